"""Algorithm 1 beside the best mapping there is, what lies between them, and what more memory would bring."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.cost_model.composition import CostModel
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.exact import FluidMapping, best_mapping, value_of
from planner.mapping.fluid_program import FluidProgram, build_program
from planner.mapping.memory_steps import MemoryStep, memory_steps
from planner.study import DeviceSection
from profiles.units import MS_PER_S
from serving_sim.plan import Plan, Workload

__all__ = ["MappingComparison", "compare_mappings", "compare_on"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MappingComparison:
    """Both mappings under the same load, by what no policy on their paths can pass.

    `qps` is the load; a mapping that is behind under it may be level under a lower one.
    """

    qps: float
    algorithm: FluidMapping
    exact: FluidMapping
    memory: tuple[MemoryStep, ...]

    @property
    def gap(self) -> float:
        """The share of the best mapping's correct predictions per second that Algorithm 1's choice cannot serve."""
        best = self.exact.correct_per_s
        return max(0.0, 1 - self.algorithm.correct_per_s / best) if best else 0.0

    @property
    def is_proven(self) -> bool:
        """Whether no mapping can be better than the one found, up to the solver's tolerance."""
        return self.exact.bound_per_s <= self.exact.correct_per_s * (1 + 1e-4)

    def to_object(self) -> dict[str, Any]:
        """The keys that `recplan map --json` prints."""
        return {
            "qps": self.qps,
            "gap": self.gap,
            "is_proven": self.is_proven,
            "algorithm_1": _object_of(self.algorithm),
            "exact": _object_of(self.exact),
            "more_memory": [
                {
                    "device": step.device,
                    "extra_bytes": step.extra_bytes,
                    "memory_bytes": step.memory_bytes,
                    "candidates": list(step.candidates),
                    "correct_predictions_per_s": step.correct_per_s,
                    "gain": step.gain,
                }
                for step in self.memory
            ],
        }


def compare_mappings(
    plan: Plan,
    candidates: Sequence[TrainedCandidate],
    devices: Sequence[DeviceSection],
    cost_model: CostModel,
    workload: Workload,
    *,
    zipf: Mapping[str, float] | float = 0.0,
) -> MappingComparison:
    """Set the plan's choice beside the best one from the same candidates for the same devices.

    Raises:
        InfeasibleError: no candidate fits any device.
        MeasurementError: the solver found no mapping within its time.
    """
    return compare_on(build_program(candidates, devices, cost_model, workload, zipf), plan)


def compare_on(program: FluidProgram, plan: Plan) -> MappingComparison:
    """`compare_mappings` for candidates that were priced before, under the program's load."""
    names = [device.name for device in program.devices]
    chosen = {name: tuple(path.candidate for path in plan.paths if path.device == name) for name in names}
    best = best_mapping(program)
    return MappingComparison(
        qps=MS_PER_S * float(program.demand.rate_per_ms_R.sum()),
        algorithm=value_of(program, chosen),
        exact=best,
        memory=tuple(step for name in names for step in memory_steps(program, name, best)),
    )


def _object_of(mapping: FluidMapping) -> dict[str, Any]:
    return {
        "correct_predictions_per_s": mapping.correct_per_s,
        "upper_bound_per_s": mapping.bound_per_s,
        "served_share": mapping.served_share,
        "accuracy": mapping.accuracy,
        "paths": [
            {
                "device": one.device,
                "candidate": one.candidate,
                "parameter_bytes": one.parameter_bytes,
                "query_share": one.query_share,
                "time_share": one.time_share,
            }
            for one in mapping.shares
        ],
    }
