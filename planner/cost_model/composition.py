"""A whole model's latency as the sum of its components', with where it goes and how certain it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.cost_model.context import IDENTITY, Context
from planner.cost_model.estimates import DeviceModel, Estimates, Floats, LatencyProvenance, worst_provenance
from planner.cost_model.features import WorkFormula
from profiles.component import Component, Work
from profiles.errors import InputError, UnknownNameError
from profiles.units import MS_PER_S
from representations.components import PlacedComponent, components_of, work_of
from representations.specs import BYTES_PER_FLOAT, ModelSpec
from representations.work import BYTES_PER_ID

__all__ = ["HOST_LINK", "ComponentLatency", "CostModel", "ModelLatency"]

HOST_LINK = "host_link"


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentLatency:
    """One component of a model at one batch of the model; `share` is of the model's latency at that batch.

    The row of path and kind `host_link` is the transfer of the inputs to the device.
    """

    path: str
    kind: str
    batch: int
    mean_ms: float
    low_ms: float
    high_ms: float
    share: float
    provenance: LatencyProvenance
    extrapolated: bool
    flops: float
    bytes_moved: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ModelLatency:
    """Latency over batches; arrays of shape [batches].

    The interval adds the components' bounds: their errors are taken as fully correlated, since whatever makes one
    prediction wrong (the neighbours, the clock rate, a mistaken cache) mostly makes all wrong alike.
    `energy_j` is modelled as busy power times latency, None where the power is unknown.
    """

    device: str
    batches: tuple[int, ...]
    mean_ms: Floats
    low_ms: Floats
    high_ms: Floats
    components: tuple[ComponentLatency, ...]
    provenance: LatencyProvenance
    energy_j: Floats | None

    @property
    def extrapolated(self) -> bool:
        """Whether any component lies beyond what was measured."""
        return any(row.extrapolated for row in self.components)

    def at(self, batch: int) -> tuple[ComponentLatency, ...]:
        """The components at one of the batches."""
        return tuple(row for row in self.components if row.batch == batch)


@dataclass(frozen=True, kw_only=True, slots=True)
class CostModel:
    """Device models by the name that the study gives the device.

    `contexts`, where there is one for a device, says what components cost more inside a model than alone.
    """

    models: Mapping[str, DeviceModel]
    contexts: Mapping[str, Context] = field(default_factory=dict)
    work: WorkFormula = field(default=work_of)

    def device(self, name: str) -> DeviceModel:
        """The model of that device; an `UnknownNameError` lists the known ones."""
        if name not in self.models:
            raise UnknownNameError("cost model: device", name, self.models)
        return self.models[name]

    def predict_model(
        self,
        spec: ModelSpec,
        batches: Sequence[int],
        device: str,
        zipf: Mapping[str, float] | float = 0.0,
        *,
        resident_bytes: int | None = None,
    ) -> ModelLatency:
        """Latency of one forward pass at each batch, the transfer of its inputs included.

        Each distinct component is predicted once, all batches together. `resident_bytes` is what the device holds, the
        model's own parameters by default.

        Raises:
            UnknownNameError: an unknown device, or a component that its model has never seen.
            InputError: no batch.
        """
        if not batches:
            raise InputError(f"model {spec.name!r}: needs at least one batch")
        model = self.device(device)
        placed = [components_of(spec, batch, zipf=zipf) for batch in batches]
        distinct = {one.component: 0 for parts in placed for one in parts}
        distinct = {component: i for i, component in enumerate(distinct)}
        resident = spec.parameter_bytes if resident_bytes is None else resident_bytes
        alone = model.predict(tuple(distinct), resident_bytes=resident)
        estimates = self.contexts.get(device, IDENTITY).place(alone)
        works = [self.work(component) for component in distinct]
        transfer = model.transfer_ms(np.array([_input_bytes(spec, batch) for batch in batches], dtype=np.float64))
        return _composed(device, batches, placed, _Priced(distinct, estimates, works), transfer, model.busy_w)


@dataclass(frozen=True, slots=True, eq=False)
class _Priced:
    """Distinct components with their estimates and work."""

    index: Mapping[Component, int]
    estimates: Estimates
    works: Sequence[Work]

    def places(self, parts: Sequence[PlacedComponent]) -> list[int]:
        return [self.index[one.component] for one in parts]


def _composed(
    device: str,
    batches: Sequence[int],
    placed: Sequence[Sequence[PlacedComponent]],
    priced: _Priced,
    transfer: Floats,
    busy_w: float | None,
) -> ModelLatency:
    estimates = priced.estimates
    at = [priced.places(parts) for parts in placed]
    mean = np.array([estimates.mean_ms[places].sum() for places in at]) + transfer
    low = np.array([estimates.low_ms[places].sum() for places in at]) + transfer
    high = np.array([estimates.high_ms[places].sum() for places in at]) + transfer
    rows: list[ComponentLatency] = []
    for batch, parts, link_ms, total_ms in zip(batches, placed, transfer.tolist(), mean.tolist(), strict=True):
        rows += [_row(one, batch, priced, total_ms) for one in parts]
        if link_ms > 0:
            rows.append(_link_row(batch, link_ms, total_ms))
    return ModelLatency(
        device=device,
        batches=tuple(batches),
        mean_ms=mean,
        low_ms=low,
        high_ms=high,
        components=tuple(rows),
        provenance=worst_provenance(estimates.provenance),
        energy_j=None if busy_w is None else busy_w * mean / MS_PER_S,
    )


def _row(one: PlacedComponent, batch: int, priced: _Priced, total_ms: float) -> ComponentLatency:
    place, estimates = priced.index[one.component], priced.estimates
    work = priced.works[place]
    return ComponentLatency(
        path=one.path,
        kind=one.component.kind,
        batch=batch,
        mean_ms=float(estimates.mean_ms[place]),
        low_ms=float(estimates.low_ms[place]),
        high_ms=float(estimates.high_ms[place]),
        share=float(estimates.mean_ms[place]) / total_ms,
        provenance=estimates.provenance[place],
        extrapolated=bool(estimates.extrapolated[place]),
        flops=work.flops,
        bytes_moved=work.bytes_moved,
    )


def _link_row(batch: int, link_ms: float, total_ms: float) -> ComponentLatency:
    return ComponentLatency(
        path=HOST_LINK,
        kind=HOST_LINK,
        batch=batch,
        mean_ms=link_ms,
        low_ms=link_ms,
        high_ms=link_ms,
        share=link_ms / total_ms,
        provenance="estimated",
        extrapolated=False,
        flops=0.0,
        bytes_moved=0.0,
    )


def _input_bytes(spec: ModelSpec, batch: int) -> float:
    ids = sum(feature.pooling for feature in spec.features)
    return batch * (spec.dense_features * BYTES_PER_FLOAT + ids * BYTES_PER_ID)
