"""A plan of the candidates that each device holds: paths with their latency tables, devices, and what was assumed."""

from collections.abc import Iterator, Mapping, Sequence

from planner.cost_model.composition import CostModel
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.latency_tables import latency_table
from planner.study import DeviceSection
from profiles.units import format_bytes
from serving_sim.plan import Device, Path, Plan, PolicyChoice, Workload

__all__ = ["mapped_plan"]

Held = Mapping[str, Sequence[TrainedCandidate]]


def mapped_plan(
    held: Held,
    devices: Sequence[DeviceSection],
    cost_model: CostModel,
    workload: Workload,
    *,
    name: str = "plan",
    zipf: Mapping[str, float] | float = 0.0,
    policy: PolicyChoice | None = None,
    seed: int = 0,
    notes: Sequence[str] = (),
) -> Plan:
    """The plan of the devices that hold anything; `notes` come after those on devices and latencies.

    A path is named after its representation and device, after its candidate where a device has two of one kind.
    """
    serving = [device for device in devices if held[device.name]]
    paths, remarks = _paths(serving, held, cost_model, workload, zipf)
    of_devices = [f"{device.name}: {note}" for device in serving for note in _device_notes(device, held, cost_model)]
    return Plan(
        name=name,
        devices=tuple(_plan_device(device, cost_model) for device in serving),
        paths=paths,
        workload=workload,
        policy=policy or PolicyChoice(),
        seed=seed,
        notes=(*of_devices, *remarks, *notes),
    )


def _paths(
    serving: Sequence[DeviceSection],
    held: Held,
    cost_model: CostModel,
    workload: Workload,
    zipf: Mapping[str, float] | float,
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    paths: list[Path] = []
    notes: list[str] = []
    for device in serving:
        candidates = held[device.name]
        kinds = [one.representation for one in candidates]
        for one in candidates:
            table, predicted, remarks = latency_table(
                cost_model,
                one.model,
                device.name,
                workload.largest_size,
                zipf,
                resident_bytes=_resident(candidates),
            )
            notes += remarks
            word = one.representation if kinds.count(one.representation) == 1 else one.name
            path = Path(
                name=f"{word}@{device.name}",
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


def _resident(candidates: Sequence[TrainedCandidate]) -> int:
    """What the paths take of the device together: each runs beside the others' parameters."""
    return sum(one.parameter_bytes for one in candidates)


def _device_notes(device: DeviceSection, held: Held, cost_model: CostModel) -> Iterator[str]:
    model, candidates = cost_model.device(device.name), held[device.name]
    yield from model.notes
    if (factor := model.scatter.mean_over_label) > 1:
        yield f"latencies here are means of single queries: {factor:.3g} times the predicted 25th percentiles"
    fast_bytes, together = device.hardware.on_chip_bytes, _resident(candidates)
    if any(one.parameter_bytes <= fast_bytes for one in candidates) and together > fast_bytes:
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
