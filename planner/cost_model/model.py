"""The model of a measured device: exact hits are answered by the measurement, the rest by the fitted families."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from planner.cost_model.estimates import Estimates, LatencyProvenance
from planner.cost_model.family import FamilyModel
from planner.cost_model.features import WorkFormula, family_of
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.host_link import copied, copy_layout, copy_notes, no_trip, published_trip
from planner.cost_model.lazy_families import LazyFamilies
from planner.cost_model.plausibility import plausibility_notes, require_possible
from planner.cost_model.scatter import Scatter
from planner.cost_model.scatter_sources import scatter_of_profiles
from planner.cost_model.training_rows import TrainingRows, limits_of, training_rows
from profiles.component import Component
from profiles.errors import InputError, UnknownNameError
from profiles.hardware import Hardware
from profiles.records import ComponentProfile

__all__ = ["FittedDeviceModel", "fit_device_model", "naming_source"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FittedDeviceModel:
    """Families by name and the rows they are fitted on; `source_notes` say where these come from and how they are used.

    Latencies are 25th percentiles of warm calls, in ms. `hardware` is what the device is in the catalogue; None for
    this machine.
    """

    families: LazyFamilies
    rows: TrainingRows
    work: WorkFormula
    hardware: Hardware | None = None
    scatter: Scatter = field(default_factory=Scatter)
    busy_w: float | None = None
    source_notes: tuple[str, ...] = ()
    _row_of: Mapping[Component, int] = field(init=False, repr=False)
    _doubts: list[tuple[str, ...]] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_row_of", {component: i for i, component in enumerate(self.rows.components)})

    @property
    def provenance(self) -> LatencyProvenance:
        """`predicted`."""
        return "predicted"

    @property
    def notes(self) -> tuple[str, ...]:
        """The source's, and what the quality of the rows is, which is looked into when it is first asked for."""
        if not self._doubts:
            self._doubts.append(plausibility_notes(self.rows, self.work, self.families.limits))
        return (*self.source_notes, *self._doubts[0], *self.scatter.notes)

    def predict(self, components: Sequence[Component], *, resident_bytes: int | None = None) -> Estimates:
        """Measured where this very component was measured, predicted elsewhere.

        A measured row's interval is its own scatter, of calls and of visits. `resident_bytes` changes nothing on a
        measured device.

        Raises:
            UnknownNameError: no component of that family was measured; lists those that were.
        """
        del resident_bytes
        count = len(components)
        mean, low, high = np.empty(count), np.empty(count), np.empty(count)
        extrapolated = np.zeros(count, dtype=np.bool_)
        provenance: list[LatencyProvenance] = ["measured"] * count
        pending: dict[str, list[int]] = {}
        for i, component in enumerate(components):
            row = self._row_of.get(component)
            if row is None:
                provenance[i] = "predicted"
                pending.setdefault(family_of(component), []).append(i)
            else:
                mean[i] = self.rows.label_ms[row]
                scatter = 1 + self.rows.relative_iqr[row] + self.rows.doubt[row]
                low[i], high[i] = mean[i] / scatter, mean[i] * scatter
        for name, places in pending.items():
            part = self._family(name).predict([components[i] for i in places], self.work)
            mean[places], low[places], high[places] = part.mean_ms, part.low_ms, part.high_ms
            extrapolated[places] = part.extrapolated
        return Estimates(
            mean_ms=mean, low_ms=low, high_ms=high, provenance=tuple(provenance), extrapolated=extrapolated
        )

    def transfer(self, inputs: Sequence[HostInputs]) -> Estimates:
        """As measured copies to the device say, else over the catalogue's host link: all other rows are measured with
        inputs in place. Zeros on this machine's processor.
        """
        if self.hardware is None or self.hardware.is_local:
            return no_trip(len(inputs))
        layout = copy_layout(self.families)
        if layout is None:
            return published_trip(self.hardware, inputs)
        return self.predict([copied(one, layout) for one in inputs])

    def only(self, names: Collection[str]) -> "FittedDeviceModel":
        """The same model as if none but these families had been measured."""
        at = [i for i, component in enumerate(self.rows.components) if family_of(component) in names]
        return replace(self, families=self.families.only(names), rows=self.rows.take(at))

    def _family(self, name: str) -> FamilyModel:
        if name not in self.families:
            raise UnknownNameError("cost model: component", name, self.families)
        return self.families[name]


def fit_device_model(
    profiles: Iterable[ComponentProfile],
    work: WorkFormula,
    *,
    seed: int = 0,
    busy_w: float | None = None,
    hardware: Hardware | None = None,
) -> FittedDeviceModel:
    """A model of the measured rows of one device; the order of the rows does not matter.

    Each family is fitted when it is first asked for. Rows of whole models teach nothing but how single queries scatter.

    Raises:
        InputError: no usable row, rows of several set-ups, impossible latencies.
    """
    profiles = tuple(profiles)
    rows, scatter = training_rows(profiles), scatter_of_profiles(profiles)
    limits = limits_of(rows.fingerprint)
    require_possible(rows, work, limits)
    source_notes = (
        "latencies are 25th percentiles of warm calls",
        *rows.notes,
        *(copy_notes(rows.components) if hardware is not None and not hardware.is_local else ()),
    )
    return FittedDeviceModel(
        families=LazyFamilies(rows=rows, work=work, limits=limits, seed=seed),
        rows=rows,
        work=work,
        hardware=hardware,
        scatter=scatter,
        busy_w=busy_w,
        source_notes=source_notes,
    )


@contextmanager
def naming_source(source: str) -> Iterator[None]:
    """Complaints about rows begin with where these come from."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
