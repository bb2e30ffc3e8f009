"""A measured device's model where some of what is asked was never measured there."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.cost_model.estimates import DeviceModel, Estimates, LatencyProvenance
from planner.cost_model.features import family_of
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.plausibility import fit_notes, row_notes
from planner.cost_model.scatter import Scatter
from profiles.component import Component, Work, make_component
from profiles.errors import UnknownNameError

__all__ = ["ReviewedDeviceModel", "cut_to_fit"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewedDeviceModel:
    """Families that were measured are the fitted model's, all others the `estimated` one's, where there is one.

    `stand_ins` are components that were measured instead of ones that this machine cannot hold: what is known of the
    first is `predicted` of the second.
    """

    fitted: FittedDeviceModel
    estimated: DeviceModel | None = None
    stand_ins: Mapping[Component, Component] = field(default_factory=dict)
    power_w: float | None = None

    @property
    def provenance(self) -> LatencyProvenance:
        """`predicted`."""
        return "predicted"

    @property
    def scatter(self) -> Scatter:
        """The fitted model's."""
        return self.fitted.scatter

    @property
    def busy_w(self) -> float | None:
        """The given power, else the fitted model's."""
        return self.power_w if self.power_w is not None else self.fitted.busy_w

    @property
    def notes(self) -> tuple[str, ...]:
        """All that may stand behind an answer; `notes_on` has those that stand behind some."""
        return (*self.fitted.notes, *_cut_notes(self.stand_ins), *(self.estimated.notes if self.estimated else ()))

    def notes_on(self, components: Sequence[Component]) -> tuple[str, ...]:
        """The notes that stand behind the answers for these components.

        What the rows lack for a fit is said of families that were predicted from one, the other model's notes where it
        answers.
        """
        asked = [self.stand_ins.get(one, one) for one in components]
        measured = set(self.fitted.rows.components)
        predicted = {family_of(one) for one in asked if one not in measured}
        cut = {one: self.stand_ins[one] for one in components if one in self.stand_ins}
        estimated = self.estimated.notes if self.estimated and predicted - set(self.fitted.families) else ()
        return (*self._fitted_notes({family_of(one) for one in asked}, predicted), *_cut_notes(cut), *estimated)

    def _fitted_notes(self, asked: Collection[str], predicted: Collection[str]) -> tuple[str, ...]:
        """The fitted model's but for those on the scatter of queries; on rows of the families asked for alone, on fits
        of those predicted.
        """
        rows, model = self.fitted.rows, self.fitted
        used, fitted = (
            rows.take([i for i, one in enumerate(rows.components) if family_of(one) in families])
            for families in (asked, predicted)
        )
        return (
            *model.source_notes,
            *row_notes(used, model.work, model.families.limits),
            *fit_notes(fitted, model.work),
        )

    def predict(self, components: Sequence[Component], *, resident_bytes: int | None = None) -> Estimates:
        """As the model of each component's family does.

        Raises:
            UnknownNameError: a family that was not measured, on a device of which nothing is published.
        """
        asked = [self.stand_ins.get(one, one) for one in components]
        known = [i for i, one in enumerate(asked) if family_of(one) in self.fitted.families]
        other = [i for i in range(len(asked)) if i not in set(known)]
        if other and self.estimated is None:
            raise UnknownNameError("cost model: component", family_of(asked[other[0]]), self.fitted.families)
        mean, low, high = np.empty((3, len(asked)))
        extrapolated = np.zeros(len(asked), dtype=np.bool_)
        provenance: list[LatencyProvenance] = ["estimated"] * len(asked)
        for model, places in ((self.fitted, known), (self.estimated, other)):
            if model is None or not places:
                continue
            part = model.predict([asked[i] for i in places], resident_bytes=resident_bytes)
            mean[places], low[places], high[places] = part.mean_ms, part.low_ms, part.high_ms
            extrapolated[places] = part.extrapolated
            for i, name in zip(places, part.provenance, strict=True):
                provenance[i] = "predicted" if asked[i] is not components[i] and name == "measured" else name
        return Estimates(
            mean_ms=mean, low_ms=low, high_ms=high, provenance=tuple(provenance), extrapolated=extrapolated
        )

    def transfer(self, inputs: Sequence[HostInputs]) -> Estimates:
        """The fitted model's."""
        return self.fitted.transfer(inputs)


def cut_to_fit(component: Component, work: Callable[[Component], Work], budget_bytes: int) -> Component:
    """The component with as many rows as the budget holds, or itself where it fits or has no rows."""
    parameter_bytes, shape = work(component).parameter_bytes, dict(component.shape)
    if parameter_bytes <= budget_bytes or "rows" not in shape:
        return component
    rows = max(1, int(int(shape["rows"]) * budget_bytes / parameter_bytes))
    cut = make_component(component.kind, component.batch, {**shape, "rows": rows}, dtype=component.dtype)
    return replace(cut, phase=component.phase)


def _cut_notes(stand_ins: Mapping[Component, Component]) -> tuple[str, ...]:
    cut = dict.fromkeys(f"{_shape(one)} as {_shape(other)}" for one, other in stand_ins.items())
    return (f"too large for this machine, so cut: {'; '.join(cut)}",) if cut else ()


def _shape(component: Component) -> str:
    rows = dict(component.shape).get("rows", 0)
    return f"{component.kind} of {int(rows):,} rows"
