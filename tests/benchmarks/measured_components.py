"""A cost model that answers from measurements of the very components that it is asked about."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.cost_model.composition import CostModel
from planner.cost_model.estimates import DeviceModel, Estimates, LatencyProvenance
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.scatter import Scatter
from profiles.component import Component
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from representations.provider import RecommendationProvider

__all__ = ["MeasuredComponents", "with_measured_components"]


@dataclass(kw_only=True, slots=True, eq=False)
class MeasuredComponents:
    """A device model that measures what it is asked about; everything else is as the fitted one says."""

    fitted: DeviceModel
    store: ProfileStore
    options: SweepOptions
    known: dict[Component, float] = field(default_factory=dict)

    @property
    def provenance(self) -> LatencyProvenance:
        """Its answers are measurements."""
        return "measured"

    @property
    def scatter(self) -> Scatter:
        """As fitted."""
        return self.fitted.scatter

    @property
    def busy_w(self) -> float | None:
        """As fitted."""
        return self.fitted.busy_w

    @property
    def notes(self) -> tuple[str, ...]:
        """None of its own."""
        return ()

    def predict(self, components: Sequence[Component], *, resident_bytes: int | None = None) -> Estimates:
        """The 25th percentile of each, measured now where it was not before; as fitted where that fails."""
        self._measure([one for one in components if one not in self.known])
        fitted = self.fitted.predict(components, resident_bytes=resident_bytes)
        mean_ms = np.array([self.known.get(one, fitted.mean_ms[place]) for place, one in enumerate(components)])
        return replace(fitted, mean_ms=mean_ms, low_ms=mean_ms, high_ms=mean_ms)

    def transfer(self, inputs: Sequence[HostInputs]) -> Estimates:
        """As fitted."""
        return self.fitted.transfer(inputs)

    def _measure(self, components: Sequence[Component]) -> None:
        if not components:
            return
        sweep(tuple(components), RecommendationProvider(), self.store, options=self.options)
        rows = {(row.spec, row.batch): row.warm for row in self.store.load() if row.warm is not None}
        for one in components:
            if (latency := rows.get((one.spec(), one.batch))) is not None:
                self.known[one] = latency.p25_ms


def with_measured_components(
    cost_model: CostModel, device: str, store: ProfileStore, options: SweepOptions
) -> CostModel:
    """The cost model, with its predictions of components on the device replaced by measurements of them."""
    measured = MeasuredComponents(fitted=cost_model.device(device), store=store, options=options)
    return replace(cost_model, models={**cost_model.models, device: measured})
