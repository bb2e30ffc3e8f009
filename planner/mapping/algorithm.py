"""Algorithm 1 of MP-Rec over all devices: a pool of trained candidates becomes a plan."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.cost_model.composition import CostModel
from planner.cost_model.scatter import mean_over_p25
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.decision import Decision
from planner.mapping.device_paths import DevicePaths, Pool, choose_paths
from planner.mapping.latency_tables import latency_table
from planner.study.device import DeviceSection
from profiles.errors import InfeasibleError, InputError
from profiles.units import format_bytes
from serving_sim.plan import Device, Path, Plan, PolicyChoice, Workload

__all__ = ["MappingResult", "map_candidates"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MappingResult:
    """The plan, and the decision of every step on every device."""

    plan: Plan
    decisions: tuple[Decision, ...]


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
        InfeasibleError: no candidate fits any device; names each budget and the smallest candidate.
        InputError: no candidate or no device, or a name that comes twice.
    """
    _require_unique("candidates", [one.name for one in candidates])
    _require_unique("devices", [device.name for device in devices])
    _require_some_fit(candidates, devices)
    chosen = {device.name: _choose(candidates, device, cost_model, workload, zipf) for device in devices}
    serving = [device for device in devices if chosen[device.name].chosen]
    paths, remarks = _paths(serving, chosen, cost_model, workload, zipf)
    idle = [device for device in devices if not chosen[device.name].chosen]
    decisions = [decision for device in devices for decision in chosen[device.name].decisions]
    decisions += [_left_empty(device, candidates) for device in idle]
    notes = [f"{device.name}: {note}" for device in serving for note in _device_notes(device, chosen, cost_model)]
    notes += remarks
    notes += [f"{one.device}: {one.reason}" for one in decisions if one.role == "device"]
    plan = Plan(
        name=name,
        devices=tuple(_plan_device(device, cost_model) for device in serving),
        paths=paths,
        workload=workload,
        policy=policy or PolicyChoice(),
        seed=seed,
        notes=tuple(notes),
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
    to_mean = mean_over_p25(cost_model.device(device.name).scatter_sigma)
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


def _paths(
    serving: Sequence[DeviceSection],
    chosen: Mapping[str, DevicePaths],
    cost_model: CostModel,
    workload: Workload,
    zipf: Mapping[str, float] | float,
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    paths: list[Path] = []
    notes: list[str] = []
    for device in serving:
        resident_bytes = _resident_bytes(chosen[device.name])
        for one in chosen[device.name].chosen:
            table, predicted, remarks = latency_table(
                cost_model, one.model, device.name, workload.sizes.maximum, zipf, resident_bytes=resident_bytes
            )
            notes += remarks
            path = Path(
                name=f"{one.representation}@{device.name}",
                representation=one.representation,
                device=device.name,
                accuracy=one.accuracy,
                latency=table,
                parameter_bytes=one.parameter_bytes,
                auc=one.auc,
                log_loss=one.log_loss,
                provenance=predicted.provenance,
                candidate=one.name,
                model=one.model.to_object(),
            )
            paths.append(path)
    return tuple(paths), tuple(notes)


def _resident_bytes(paths: DevicePaths) -> int:
    """What the chosen paths take of the device together: each runs beside the others' parameters."""
    return sum(one.parameter_bytes for one in paths.chosen)


def _device_notes(device: DeviceSection, chosen: Mapping[str, DevicePaths], cost_model: CostModel) -> Iterator[str]:
    model, paths = cost_model.device(device.name), chosen[device.name]
    yield from model.notes
    if model.scatter_sigma > 0:
        factor = mean_over_p25(model.scatter_sigma)
        yield f"latencies here are means of single queries: {factor:.3g} times the 25th percentiles, by their scatter"
    fast_bytes, together = device.hardware.on_chip_bytes, _resident_bytes(paths)
    if any(one.parameter_bytes <= fast_bytes for one in paths.chosen) and together > fast_bytes:
        yield (
            f"the paths' parameters fit the {format_bytes(fast_bytes)} on chip one by one but not together "
            f"({format_bytes(together)}), so they stream from memory"
        )


def _plan_device(device: DeviceSection, cost_model: CostModel) -> Device:
    busy_w = device.power_w if device.power_w is not None else cost_model.device(device.name).busy_w
    return Device(
        name=device.name,
        kind=device.kind,
        title=device.hardware.title,
        servers=device.servers,
        memory_bytes=device.memory_bytes,
        price_per_hour=device.price_per_hour,
        busy_w=busy_w,
        idle_w=device.hardware.idle_w,
    )


def _left_empty(device: DeviceSection, candidates: Sequence[TrainedCandidate]) -> Decision:
    smallest = min(candidates, key=lambda one: (one.parameter_bytes, one.name))
    missing = smallest.parameter_bytes - device.memory_bytes
    budget = format_bytes(device.memory_bytes)
    reason = f"nothing fits {budget}; {smallest.name} would with {missing:,} more bytes: the plan does without it"
    return Decision(device=device.name, role="device", candidate=None, reason=reason)


def _require_some_fit(candidates: Sequence[TrainedCandidate], devices: Sequence[DeviceSection]) -> None:
    smallest = min(candidates, key=lambda one: (one.parameter_bytes, one.name))
    if any(smallest.parameter_bytes <= device.memory_bytes for device in devices):
        return
    budgets = ", ".join(f"{device.name} {device.memory_bytes:,} bytes" for device in devices)
    raise InfeasibleError(
        f"mapping: no candidate fits any device ({budgets}); "
        f"the smallest is {smallest.name} with {smallest.parameter_bytes:,} bytes"
    )


def _require_unique(what: str, names: Sequence[str]) -> None:
    if not names:
        raise InputError(f"mapping: {what}: must not be empty")
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"mapping: {what}: names must be unique, but {doubled} come more than once")
