"""A whole model's latency as the sum of its components', with where it goes and how certain it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.cost_model.context import IDENTITY, Context
from planner.cost_model.estimates import DeviceModel, Estimates, Floats, LatencyProvenance, worst_provenance
from planner.cost_model.features import WorkFormula
from planner.cost_model.host_inputs import HostInputs, inputs_of
from planner.cost_model.pass_counts import PassCounts, joined, pass_counts
from planner.cost_model.traffic import in_context
from profiles.component import Work
from profiles.errors import InputError, UnknownNameError
from profiles.units import MS_PER_S
from representations.components import PlacedComponent, components_of, work_of
from representations.specs import ModelSpec

__all__ = ["HOST_LINK", "ComponentLatency", "CostModel", "ModelLatency"]

HOST_LINK = "host_link"


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentLatency:
    """One component of a model at one batch of the model; `share` is of the model's latency at that batch.

    The row of path and kind `host_link` is the transfer of the inputs to the device: `estimated` where it rests on the
    published link, else as measured copies to it say.
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
    `energy_j` is modelled as busy power times latency, None where the power is unknown. `counts` are what the context
    weighs.
    """

    device: str
    batches: tuple[int, ...]
    mean_ms: Floats
    low_ms: Floats
    high_ms: Floats
    components: tuple[ComponentLatency, ...]
    provenance: LatencyProvenance
    energy_j: Floats | None
    counts: PassCounts

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
        model's own parameters by default. For many models at once see `batch_prediction`.

        Raises:
            UnknownNameError: an unknown device, or a component that its model has never seen.
            InputError: no batch.
        """
        placed = [components_of(spec, batch, zipf=zipf) for batch in batches]
        inputs = [inputs_of(spec.features, spec.dense_features, batch) for batch in batches]
        resident = spec.parameter_bytes if resident_bytes is None else resident_bytes
        return self.predict_placed(placed, batches, device, inputs=inputs, resident_bytes=resident)

    def predict_placed(
        self,
        placed: Sequence[Sequence[PlacedComponent]],
        batches: Sequence[int],
        device: str,
        *,
        inputs: Sequence[HostInputs],
        resident_bytes: int,
    ) -> ModelLatency:
        """Latency of a model by its components at each batch, with its inputs there.

        Raises:
            UnknownNameError: an unknown device, or a component that its model has never seen.
            InputError: no batch.
        """
        if not batches:
            raise InputError("cost model: needs at least one batch")
        model, context = self.device(device), self.contexts.get(device, IDENTITY)
        if context.has_table_profiles:
            placed = [in_context(parts, self.work) for parts in placed]
        distinct = {one.component: 0 for parts in placed for one in parts}
        distinct = {component: i for i, component in enumerate(distinct)}
        alone = model.predict(tuple(distinct), resident_bytes=resident_bytes)
        works = [self.work(component) for component in distinct]
        transfer = model.transfer(inputs)
        parts = [_priced(one, [distinct[part.component] for part in one], alone, works, context) for one in placed]
        return _composed(device, batches, parts, transfer, model.busy_w)


@dataclass(frozen=True, slots=True, eq=False)
class _Priced:
    """The components of a pass with their latencies in the model and their work."""

    placed: Sequence[PlacedComponent]
    estimates: Estimates
    works: Sequence[Work]
    counts: PassCounts


def _priced(
    placed: Sequence[PlacedComponent], at: Sequence[int], alone: Estimates, works: Sequence[Work], context: Context
) -> _Priced:
    own = [works[i] for i in at]
    counts = pass_counts([one.path for one in placed], [one.component for one in placed], own)
    return _Priced(placed, context.place(alone.take(at), counts), own, counts.sum())


def _composed(
    device: str, batches: Sequence[int], priced: Sequence[_Priced], transfer: Estimates, busy_w: float | None
) -> ModelLatency:
    mean = np.array([one.estimates.mean_ms.sum() for one in priced]) + transfer.mean_ms
    low = np.array([one.estimates.low_ms.sum() for one in priced]) + transfer.low_ms
    high = np.array([one.estimates.high_ms.sum() for one in priced]) + transfer.high_ms
    rows: list[ComponentLatency] = []
    for place, (batch, one, total_ms) in enumerate(zip(batches, priced, mean.tolist(), strict=True)):
        rows += [_row(one, i, batch, total_ms) for i in range(len(one.placed))]
        if transfer.mean_ms[place] > 0:
            rows.append(_link_row(transfer, place, batch, total_ms))
    return ModelLatency(
        device=device,
        batches=tuple(batches),
        mean_ms=mean,
        low_ms=low,
        high_ms=high,
        components=tuple(rows),
        provenance=worst_provenance(part for one in priced for part in one.estimates.provenance),
        energy_j=None if busy_w is None else busy_w * mean / MS_PER_S,
        counts=joined([one.counts for one in priced]),
    )


def _row(priced: _Priced, place: int, batch: int, total_ms: float) -> ComponentLatency:
    one, estimates, work = priced.placed[place], priced.estimates, priced.works[place]
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


def _link_row(transfer: Estimates, place: int, batch: int, total_ms: float) -> ComponentLatency:
    return ComponentLatency(
        path=HOST_LINK,
        kind=HOST_LINK,
        batch=batch,
        mean_ms=float(transfer.mean_ms[place]),
        low_ms=float(transfer.low_ms[place]),
        high_ms=float(transfer.high_ms[place]),
        share=float(transfer.mean_ms[place]) / total_ms,
        provenance=transfer.provenance[place],
        extrapolated=bool(transfer.extrapolated[place]),
        flops=0.0,
        bytes_moved=0.0,
    )
