"""MP-Rec's plans and devices, priced by the catalogue, and how they are asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.mapping.preset_plans import (
    MP_REC_DEVICES,
    MP_REC_ZIPF,
    DataSet,
    catalogue_models,
    mp_rec_candidates,
    mp_rec_plan,
)
from planner.study import DeviceSection
from profiles.component import Component, Work
from profiles.hardware import get_hardware
from profiles.units import MS_PER_S
from representations.components import work_of
from representations.specs import ModelSpec
from serving_sim.engine import SimulationOptions, simulate
from serving_sim.kernels import Floats
from serving_sim.metrics import SimulationResult
from serving_sim.paths import compile_paths
from serving_sim.plan import Plan
from serving_sim.policies import Policy, Static
from serving_sim.workload import WorkloadStream, empty_chunk
from tests.benchmarks.mp_rec_caches import MpCache, with_mp_cache

__all__ = [
    "DATA_SETS",
    "SATURATING_QPS",
    "CpuEfficiency",
    "Setup",
    "kind_latency_ms",
    "late_share",
    "mean_service_ms",
    "rate_when_late",
    "select_of_largest",
    "serve",
    "services_ms",
    "switching_gain",
    "throughput",
]

DATA_SETS: tuple[DataSet, ...] = ("kaggle", "terabyte")
# So fast that all queries wait from the start: what is served per second then is what the devices can do.
SATURATING_QPS = 1e7
_QUIET = SimulationOptions(fluid_bound=False)
_BISECTIONS = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class CpuEfficiency:
    """What the processor reaches: shares of its peaks, and the host's time for each operator."""

    flops_share: float
    operator_us: float


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A data set on a pair of devices: the plan of the mapping, and what lies behind its latencies."""

    hardware: str = "mp-rec-hw1"
    data: DataSet = "kaggle"
    cpu: CpuEfficiency | None = None
    devices: tuple[DeviceSection, ...] = ()

    @cached_property
    def sections(self) -> tuple[DeviceSection, ...]:
        """The devices."""
        return self.devices or tuple(MP_REC_DEVICES[self.hardware])

    @cached_property
    def models(self) -> dict[str, RooflineDeviceModel]:
        """What tells latencies on each device."""
        models = {name: replace(model, work=_work) for name, model in catalogue_models(self.sections).items()}
        if self.cpu is not None:
            slower = replace(
                models["cpu"].hardware,
                achieved_flops_share=self.cpu.flops_share,
                launch_overhead_s=self.cpu.operator_us * 1e-6,
            )
            models["cpu"] = replace(models["cpu"], hardware=slower)
        return models

    @cached_property
    def cost_model(self) -> CostModel:
        """The models together."""
        return CostModel(models=self.models, work=_work)

    @cached_property
    def specs(self) -> Mapping[str, ModelSpec]:
        """The models of the candidates by name, and `select-3`: DHEs for the three features of most ids."""
        specs = {one.name: one.model for one in mp_rec_candidates(self.data)}
        return {**specs, "select-3": select_of_largest(self.table, specs["dhe-1024"], 3)}

    @cached_property
    def table(self) -> ModelSpec:
        """The model of full tables."""
        return mp_rec_candidates(self.data)[0].model

    @cached_property
    def plan(self) -> Plan:
        """Algorithm 1's plan, without any cache."""
        return mp_rec_plan(self.hardware, data=self.data, devices=self.sections, models=self.models)

    def cached(self, cache: MpCache) -> Plan:
        """The plan with MP-Cache in front of its DHEs."""
        return with_mp_cache(self.plan, self.specs, self.cost_model, cache, MP_REC_ZIPF)

    def latency_ms(self, candidate: str, device: str, sizes: Sequence[int]) -> Floats:
        """Of a query alone on the device, which holds no other model."""
        return self.cost_model.predict_model(self.specs[candidate], sizes, device, MP_REC_ZIPF).mean_ms

    def slowdown(self, candidate: str, device: str, size: int) -> float:
        """Latency over that of tables on the same device."""
        slow, table = (self.latency_ms(name, device, (size,))[0] for name in (candidate, self.table.name))
        return float(slow / table)


@cache
def _work(component: Component) -> Work:
    """Of the few thousand components of these models, each asked about many times."""
    return work_of(component)


def select_of_largest(tables: ModelSpec, stacks: ModelSpec, count: int) -> ModelSpec:
    """Tables but for the features of most ids, whose embeddings are those of `stacks`."""
    order = np.argsort([-feature.cardinality for feature in tables.features], kind="stable")
    largest = set(order[:count].tolist())
    pairs = zip(tables.embeddings, stacks.embeddings, strict=True)
    embeddings = tuple(stack if place in largest else table for place, (table, stack) in enumerate(pairs))
    return replace(tables, name=f"select-{count}", embeddings=embeddings)


def kind_latency_ms(spec: ModelSpec, kind: str, size: int) -> float:
    """Of a query on a device of the catalogue, which holds no other model."""
    model = RooflineDeviceModel(hardware=get_hardware(kind), work=_work)
    return float(CostModel(models={kind: model}, work=_work).predict_model(spec, (size,), kind, MP_REC_ZIPF).mean_ms[0])


def serve(plan: Plan, policy: Policy, *, qps: float | None = None, sla_ms: float | None = None) -> SimulationResult:
    """The plan's queries under a policy."""
    return simulate(plan, policy=policy, qps=qps, sla_ms=sla_ms, options=_QUIET)


def throughput(plan: Plan, policy: Policy) -> float:
    """Correct predictions per second, late ones too, where queries always wait."""
    return serve(plan, policy, qps=SATURATING_QPS).correct_predictions_per_s


def late_share(plan: Plan, policy: Policy, *, qps: float | None = None, sla_ms: float | None = None) -> float:
    """The share of queries that miss the SLA."""
    return serve(plan, policy, qps=qps, sla_ms=sla_ms).sla_violation_share


def rate_when_late(plan: Plan, policy: Policy, late: float) -> float:
    """The rate at which that share of queries misses the SLA; the same queries at every rate."""
    capacity = MS_PER_S / mean_service_ms(plan)[_place(plan, policy)]
    low, high = 0.01 * capacity, 4 * capacity
    for _ in range(_BISECTIONS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if late_share(plan, policy, qps=middle) < late else (low, middle)
    return float(high)


def mean_service_ms(plan: Plan) -> Floats:
    """[P]: of each path over the plan's queries, one at a time."""
    means: Floats = services_ms(plan).mean(axis=0)
    return means


def switching_gain(plan: Plan, paths: Sequence[str]) -> float:
    """How much sooner each query is done alone on the quicker path, over all on the better one of the paths."""
    names = [path.name for path in plan.paths]
    services_ms_NP = services_ms(plan)[:, [names.index(path) for path in paths]]
    return float(services_ms_NP.mean(axis=0).min() / services_ms_NP.min(axis=1).mean()) - 1


def services_ms(plan: Plan, *, parts: int = 1) -> Floats:
    """[N, P]: how long each of the plan's queries, or the larger of its equal parts, takes on each path."""
    tables, load = compile_paths(plan), plan.workload
    chunk = empty_chunk(load.queries, len(tables.spreads))
    WorkloadStream(load, tables.spreads, plan.seed).fill(chunk, load.queries)
    services: Floats = tables.arrays.service_ms_SP[-(-chunk.size_N // parts)]
    return services


def _place(plan: Plan, policy: Policy) -> int:
    names = [path.name for path in plan.paths]
    return names.index(policy.path) if isinstance(policy, Static) else 0
