"""The review itself: what each component of a model costs on each device."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from planner.cost_model.chips import layout_note, layout_of
from planner.cost_model.composition import HOST_LINK, ComponentLatency, CostModel, ModelLatency
from planner.cost_model.context import Context
from planner.cost_model.energy import Energy, energy_of
from planner.cost_model.estimates import DeviceModel, LatencyProvenance
from planner.cost_model.traffic import in_context
from planner.cost_model.whole_sums import has_table_profiles
from planner.review.latencies import SourcedModel
from planner.review.reviewed_device import ReviewedDeviceModel
from planner.review.subject import Subject
from planner.study import DeviceSection
from profiles.component import Component
from profiles.units import MS_PER_S, SECONDS_PER_HOUR
from profiles.utilisation import bandwidth_share, model_flops_share
from representations.components import PlacedComponent, work_of

__all__ = ["MILLION", "ComponentCost", "DeviceReview", "ModelReview", "review_model", "shape_text", "size_text"]

MILLION = 10**6
_SIZES = ("tables", "rows", "vectors", "width", "parts", "k", "rank", "dim")


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentCost:
    """One component on one device at one batch; energy is of a pass, `cost_per_million` of a million samples.

    `size` tells the shape in short, `shape` all of it. Of the row of kind `host_link`, the transfer of the inputs,
    `bytes_moved` are unknown. Shares of peaks are None where the device has none.
    """

    device: str
    path: str
    kind: str
    size: str
    shape: str
    dtype: str
    latency_ms: float
    low_ms: float
    high_ms: float
    share: float
    provenance: LatencyProvenance
    extrapolated: bool
    flops: float
    bytes_moved: float | None
    parameter_bytes: int
    mfu: float | None
    bandwidth_share: float | None
    energy_j: float | None
    cost_per_million: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceReview:
    """A model on one device, its components in execution order; `fits` says whether its peak fits the memory."""

    name: str
    kind: str
    source: str
    latency_ms: float
    low_ms: float
    high_ms: float
    provenance: LatencyProvenance
    samples_per_s: float
    energy_j: float | None
    energy_label: Literal["modelled", "measured"] | None
    power_w: float | None
    price_per_hour: float | None
    cost_per_million: float | None
    memory_bytes: int
    fits: bool
    components: tuple[ComponentCost, ...]
    notes: tuple[str, ...]

    @property
    def by_kind(self) -> Mapping[str, float]:
        """Latency in ms of all components of each kind, the longest first."""
        sums: dict[str, float] = {}
        for row in self.components:
            sums[row.kind] = sums.get(row.kind, 0.0) + row.latency_ms
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    @property
    def named_notes(self) -> tuple[str, ...]:
        """The notes, each with the device's name before it."""
        named = f"{self.name}: "
        return tuple(note if note.startswith(named) else named + note for note in self.notes)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReview:
    """A model at a batch: bytes of parameters exact, the peak of a forward pass predicted (None where it is not known),
    FLOPs and bytes moved by formula, all else per device.
    """

    name: str
    batch: int
    parameter_bytes: int
    peak_bytes: int | None
    flops: float
    bytes_moved: float
    devices: tuple[DeviceReview, ...]
    notes: tuple[str, ...] = ()

    def to_object(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"target": self.name, **{name: value for name, value in asdict(self).items() if name != "name"}}


def review_model(
    subject: Subject, batch: int, devices: Sequence[DeviceSection], models: Mapping[str, SourcedModel]
) -> ModelReview:
    """Price the subject at the batch on every device; a price is for the device busy with nothing else.

    Raises:
        UnknownNameError: a component that a device's model has never seen.
    """
    placed = subject.place(batch)
    works = [work_of(one.component) for one in placed]
    memory = subject.memory(batch) if subject.memory else None
    peak_bytes = memory.peak_bytes if memory else None
    needed = subject.parameter_bytes if peak_bytes is None else peak_bytes
    return ModelReview(
        name=subject.name,
        batch=batch,
        parameter_bytes=subject.parameter_bytes,
        peak_bytes=peak_bytes,
        flops=sum(work.flops for work in works),
        bytes_moved=sum(work.bytes_moved for work in works),
        devices=tuple(
            _device_review(subject, placed, batch, device, models[device.name], needed) for device in devices
        ),
        notes=subject.notes,
    )


def _device_review(
    subject: Subject,
    placed: Sequence[PlacedComponent],
    batch: int,
    device: DeviceSection,
    sourced: SourcedModel,
    needed_bytes: int,
) -> DeviceReview:
    latency, energy = _predicted(subject, placed, batch, device, sourced)
    total_ms = float(latency.mean_ms[0])
    resident_bytes = subject.parameter_bytes
    pricer = _Pricer(
        device=device, batch=batch, power_w=energy.power_w if energy else None, resident_bytes=resident_bytes
    )
    layout = layout_note(device.hardware, resident_bytes) if latency.provenance == "estimated" else ""
    return DeviceReview(
        name=device.name,
        kind=device.kind,
        source=sourced.source,
        latency_ms=total_ms,
        low_ms=float(latency.low_ms[0]),
        high_ms=float(latency.high_ms[0]),
        provenance=latency.provenance,
        samples_per_s=batch / total_ms * MS_PER_S,
        energy_j=float(energy.joules[0]) if energy else None,
        energy_label=energy.label if energy else None,
        power_w=energy.power_w if energy else None,
        price_per_hour=device.price_per_hour,
        cost_per_million=pricer.cost(total_ms),
        memory_bytes=device.memory_bytes,
        fits=needed_bytes <= device.memory_bytes,
        components=pricer.rows(latency, [one.component for one in placed]),
        notes=(*sourced.notes, *_model_notes(sourced.model, placed), *((layout,) if layout else ())),
    )


def _predicted(
    subject: Subject, placed: Sequence[PlacedComponent], batch: int, device: DeviceSection, sourced: SourcedModel
) -> tuple[ModelLatency, Energy | None]:
    model = sourced.model
    contexts = {device.name: Context(has_table_profiles=True)} if _knows_traffic(model) else {}
    latency = CostModel(models={device.name: model}, contexts=contexts).predict_placed(
        [placed],
        (batch,),
        device.name,
        inputs=[subject.inputs(batch)],
        resident_bytes=subject.parameter_bytes,
    )
    return latency, energy_of(latency, model, sourced.measured_w)


def _knows_traffic(model: DeviceModel) -> bool:
    return isinstance(model, ReviewedDeviceModel) and has_table_profiles(model.fitted)


def _model_notes(model: DeviceModel, placed: Sequence[PlacedComponent]) -> tuple[str, ...]:
    """Those that stand behind the components' latencies."""
    if not isinstance(model, ReviewedDeviceModel):
        return model.notes
    asked = in_context(placed, work_of) if _knows_traffic(model) else placed
    return model.notes_on([one.component for one in asked])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pricer:
    device: DeviceSection
    batch: int
    power_w: float | None
    resident_bytes: int

    def cost(self, latency_ms: float) -> float | None:
        """Of a million samples, in the currency of the price."""
        price = self.device.price_per_hour
        if price is None:
            return None
        return price / SECONDS_PER_HOUR * latency_ms / MS_PER_S * MILLION / self.batch

    def rows(self, latency: ModelLatency, components: Sequence[Component]) -> tuple[ComponentCost, ...]:
        """The components, and the transfer of the inputs where there is one."""
        parts = latency.at(self.batch)
        own = [self._row(part, component) for part, component in zip(parts, components, strict=False)]
        return (*own, *(self._row(part, None) for part in parts[len(components) :]))

    def _row(self, part: ComponentLatency, component: Component | None) -> ComponentCost:
        dtype = component.dtype if component else ""
        is_link = part.kind == HOST_LINK
        return ComponentCost(
            device=self.device.name,
            path=part.path,
            kind=part.kind,
            size=size_text(component) if component else "",
            shape=shape_text(component) if component else "",
            dtype=dtype,
            latency_ms=part.mean_ms,
            low_ms=part.low_ms,
            high_ms=part.high_ms,
            share=part.share,
            provenance=part.provenance,
            extrapolated=part.extrapolated,
            flops=part.flops,
            bytes_moved=None if is_link else part.bytes_moved,
            parameter_bytes=work_of(component).parameter_bytes if component else 0,
            mfu=None if is_link else model_flops_share(part.flops, part.mean_ms, self.device.kind, dtype),
            bandwidth_share=None if is_link else self._bandwidth_share(part),
            energy_j=None if self.power_w is None else self.power_w * part.mean_ms / MS_PER_S,
            cost_per_million=self.cost(part.mean_ms),
        )

    def _bandwidth_share(self, part: ComponentLatency) -> float | None:
        """Of the memory that holds the parameters, be it on the chips or behind them."""
        hardware = self.device.hardware
        share = bandwidth_share(part.bytes_moved, part.mean_ms, self.device.kind)
        on_chip = hardware.on_chip_bandwidth_bytes_per_s
        if share is None or not on_chip or layout_of(hardware, self.resident_bytes).layout == "stream":
            return share
        return share * hardware.bandwidth_bytes_per_s / on_chip


def shape_text(component: Component) -> str:
    """`in_features 13, out_features 512`: what tells components of a kind apart, but for the batch."""
    return ", ".join(f"{name} {_number(value)}" for name, value in component.shape)


def size_text(component: Component) -> str:
    """`13 → 512`, `1,460 × 16`, `relu 512`: what a reader looks for, without units and names."""
    shape = {name: _number(value) for name, value in component.shape}
    if "in_features" in shape:
        return f"{shape['in_features']} → {shape['out_features']}"
    names = [name for name in _SIZES if name in shape]
    text = " × ".join(shape[name] for name in names)
    return f"{shape['function']} {text}" if "function" in shape else text


def _number(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
