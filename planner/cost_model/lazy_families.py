"""The families of a device's rows, each fitted when it is first asked for: most questions concern a few of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.cost_model.family import FamilyModel, fit_family
from planner.cost_model.features import WorkFormula, places_by_family
from planner.cost_model.fitter import Fitter
from planner.cost_model.roofline import PhysicalLimits
from planner.cost_model.training_rows import TrainingRows

__all__ = ["LazyFamilies"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class LazyFamilies(Mapping[str, FamilyModel]):
    """Families by name, those of `names` alone where it is given; fits are kept.

    A fit depends on its own rows and the seed, not on what was asked for before.
    """

    rows: TrainingRows
    work: WorkFormula
    limits: PhysicalLimits
    seed: int
    names: Collection[str] | None = None
    _places: Mapping[str, Sequence[int]] = field(init=False)
    _fitted: dict[str, FamilyModel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        places = places_by_family(self.rows.components)
        wanted = {name: at for name, at in places.items() if self.names is None or name in self.names}
        object.__setattr__(self, "_places", wanted)

    def __getitem__(self, name: str) -> FamilyModel:
        if name not in self._fitted:
            self._fit([name], Fitter())
        return self._fitted[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def only(self, names: Collection[str]) -> "LazyFamilies":
        """Those of these names, which share their fits with all."""
        return replace(self, names=names)

    def fit_all(self, fitter: Fitter) -> None:
        """Fit at once what was not asked for yet."""
        self._fit(list(self), fitter)

    def _fit(self, names: Sequence[str], fitter: Fitter) -> None:
        rows = {name: self.rows.take(self._places[name]) for name in names if name not in self._fitted}
        tasks = [(name, own, self.work, self.limits, self.seed) for name, own in rows.items()]
        self._fitted.update(zip(rows, fitter.each(_fitted, tasks), strict=True))


def _fitted(name: str, rows: TrainingRows, work: WorkFormula, limits: PhysicalLimits, seed: int) -> FamilyModel:
    return fit_family(name, rows.components, rows.label_ms, work, limits, seed=seed, doubt_N=rows.doubt)
