"""Algorithm 1 of MP-Rec over all devices: a pool of trained candidates becomes a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.cost_model.composition import CostModel
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.comparison import MappingComparison
from planner.mapping.decision import Decision
from planner.mapping.device_paths import DevicePaths, Pool, choose_paths
from planner.mapping.feature_suggestion import FeatureSuggestion
from planner.mapping.mapped_plan import mapped_plan
from planner.study.device import DeviceSection
from profiles.errors import InfeasibleError, InputError
from profiles.units import format_bytes
from serving_sim.plan import Plan, PolicyChoice, Workload

__all__ = ["MappingResult", "map_candidates"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MappingResult:
    """The plan, and the decision of every step on every device.

    Where they were asked for: how far the plan is from the best mapping, and a select chosen feature by feature.
    """

    plan: Plan
    decisions: tuple[Decision, ...]
    comparison: MappingComparison | None = None
    features: FeatureSuggestion | None = None


def map_candidates(
    candidates: Sequence[TrainedCandidate],
    devices: Sequence[DeviceSection],
    cost_model: CostModel,
    workload: Workload,
    *,
    name: str = "plan",
    zipf: Mapping[str, float] | float = 0.0,
    policy: PolicyChoice | None = None,
    seed: int = 0,
) -> MappingResult:
    """Paths for every device within its memory, with latency over query sizes 1, 2, 4, ... to the workload's largest.

    Raises:
        InfeasibleError: no candidate fits any device; names each budget, the smallest candidate and what is short.
        InputError: no candidate or no device, or a name that comes twice.
    """
    _require_unique("candidates", [one.name for one in candidates])
    _require_unique("devices", [device.name for device in devices])
    _require_some_fit(candidates, devices)
    chosen = {device.name: _choose(candidates, device, cost_model, workload, zipf) for device in devices}
    decisions = [decision for device in devices for decision in chosen[device.name].decisions]
    decisions += [_left_empty(device, candidates) for device in devices if not chosen[device.name].chosen]
    plan = mapped_plan(
        {device.name: chosen[device.name].chosen for device in devices},
        devices,
        cost_model,
        workload,
        name=name,
        zipf=zipf,
        policy=policy,
        seed=seed,
        notes=[f"{one.device}: {one.reason}" for one in decisions if one.role == "device"],
    )
    return MappingResult(plan=plan, decisions=tuple(decisions))


def _choose(
    candidates: Sequence[TrainedCandidate],
    device: DeviceSection,
    cost_model: CostModel,
    workload: Workload,
    zipf: Mapping[str, float] | float,
) -> DevicePaths:
    mean_size = max(1, round(workload.sizes.mean))
    to_mean = cost_model.device(device.name).scatter.mean_over_label
    known: dict[str, float] = {}

    def latency_ms(one: TrainedCandidate) -> float:
        if one.name not in known:
            predicted = cost_model.predict_model(one.model, (mean_size,), device.name, zipf)
            known[one.name] = to_mean * float(predicted.mean_ms[0])
        return known[one.name]

    pool = Pool(
        device=device.name,
        memory_bytes=device.memory_bytes,
        sla_ms=workload.sla_ms,
        mean_size=mean_size,
        candidates=tuple(candidates),
        latency_ms=latency_ms,
    )
    return choose_paths(pool)


def _left_empty(device: DeviceSection, candidates: Sequence[TrainedCandidate]) -> Decision:
    smallest = min(candidates, key=lambda one: (one.parameter_bytes, one.name))
    missing = smallest.parameter_bytes - device.memory_bytes
    budget = format_bytes(device.memory_bytes)
    reason = f"nothing fits {budget}; {smallest.name} would with {missing:,} more bytes: the plan does without it"
    return Decision(device=device.name, role="device", candidate=None, reason=reason)


def _require_some_fit(candidates: Sequence[TrainedCandidate], devices: Sequence[DeviceSection]) -> None:
    smallest = min(candidates, key=lambda one: (one.parameter_bytes, one.name))
    missing = smallest.parameter_bytes - max(device.memory_bytes for device in devices)
    if missing <= 0:
        return
    budgets = ", ".join(f"{device.name} {device.memory_bytes:,} bytes" for device in devices)
    raise InfeasibleError(
        f"mapping: no candidate fits any device ({budgets}); "
        f"the smallest is {smallest.name} with {smallest.parameter_bytes:,} bytes: {missing:,} too many"
    )


def _require_unique(what: str, names: Sequence[str]) -> None:
    if not names:
        raise InputError(f"mapping: {what}: must not be empty")
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"mapping: {what}: names must be unique, but {doubled} come more than once")
