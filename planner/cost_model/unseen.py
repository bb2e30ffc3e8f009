"""A fitted device model as if it had not seen what it is asked: for the error on models whose parts were measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from planner.cost_model.estimates import Estimates, LatencyProvenance
from planner.cost_model.features import family_of
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.scatter import Scatter
from profiles.component import Component

__all__ = ["UnseenDeviceModel"]


@dataclass(frozen=True, slots=True)
class UnseenDeviceModel:
    """Every component from the fit of its family that held its shape out, at whatever batch.

    Families of fewer than five shapes hold out single rows, a shape at a batch. A component of a family too small for
    even that is answered as the fitted model answers it, and stays `measured` where it was.
    """

    fitted: FittedDeviceModel

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
        """The fitted model's."""
        return self.fitted.busy_w

    @property
    def notes(self) -> tuple[str, ...]:
        """Which families held out less than shapes."""
        families = self.fitted.families.values()
        few = ", ".join(sorted(family.name for family in families if not family.folds.by_shape))
        return (f"too few shapes, so held out by single rows: {few}",) if few else ()

    def predict(self, components: Sequence[Component], *, resident_bytes: int | None = None) -> Estimates:
        """As the fitted model's, but held out."""
        known = self.fitted.predict(components, resident_bytes=resident_bytes)
        mean, low, high = known.mean_ms.copy(), known.low_ms.copy(), known.high_ms.copy()
        extrapolated, provenance = known.extrapolated.copy(), list(known.provenance)
        for (name, fold), places in self._held_out_places(components).items():
            family = self.fitted.families[name]
            part = family.predict([components[i] for i in places], self.fitted.work, core=family.fold_cores[fold])
            mean[places], low[places], high[places] = part.mean_ms, part.low_ms, part.high_ms
            extrapolated[places] = part.extrapolated
            for i in places:
                provenance[i] = "predicted"
        return Estimates(
            mean_ms=mean, low_ms=low, high_ms=high, provenance=tuple(provenance), extrapolated=extrapolated
        )

    def transfer(self, inputs: Sequence[HostInputs]) -> Estimates:
        """The fitted model's."""
        return self.fitted.transfer(inputs)

    def _held_out_places(self, components: Sequence[Component]) -> dict[tuple[str, int], list[int]]:
        places: dict[tuple[str, int], list[int]] = {}
        for i, component in enumerate(components):
            name = family_of(component)
            family = self.fitted.families[name]
            fold = family.folds.of(component)
            if fold is not None and fold in family.fold_cores:
                places.setdefault((name, fold), []).append(i)
        return places
