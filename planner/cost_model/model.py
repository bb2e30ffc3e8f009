"""The model of a measured device: exact hits are answered by the measurement, the rest by the fitted families."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np

from planner.cost_model.estimates import Estimates, Floats, LatencyProvenance
from planner.cost_model.family import FEWEST_FOR_RESIDUAL, FamilyModel, fit_family
from planner.cost_model.features import WorkFormula, family_of
from planner.cost_model.host_link import host_link_ms
from planner.cost_model.plausibility import plausibility_notes, require_possible
from planner.cost_model.scatter import Scatter
from planner.cost_model.scatter_sources import scatter_of_profiles
from planner.cost_model.training_rows import (
    TrainingRows,
    limits_of,
    training_rows,
)
from profiles.component import Component
from profiles.errors import UnknownNameError
from profiles.hardware import Hardware
from profiles.records import ComponentProfile

__all__ = ["FittedDeviceModel", "fit_device_model"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FittedDeviceModel:
    """Families by name and the rows they were fitted on; `notes` say what the rows' quality was.

    Latencies are 25th percentiles of warm calls, in ms. `hardware` is what the device is in the catalogue; None for
    this machine.
    """

    families: Mapping[str, FamilyModel]
    rows: TrainingRows
    work: WorkFormula
    hardware: Hardware | None = None
    scatter: Scatter = field(default_factory=Scatter)
    busy_w: float | None = None
    notes: tuple[str, ...] = ()
    _row_of: Mapping[Component, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_row_of", {component: i for i, component in enumerate(self.rows.components)})

    @property
    def provenance(self) -> LatencyProvenance:
        """`predicted`."""
        return "predicted"

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

    def transfer_ms(self, input_bytes: Floats) -> Floats:
        """Over the catalogue's host link: rows are measured with inputs in place. Zeros on this machine's processor."""
        if self.hardware is None or self.hardware.is_local:
            return np.zeros(len(input_bytes))
        return host_link_ms(self.hardware, input_bytes)

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
    """Fit every family among the measured rows of one device; the order of the rows does not matter.

    Rows of whole models teach nothing but how single queries scatter.

    Raises:
        InputError: no usable row, rows of several set-ups, impossible latencies.
    """
    from threadpoolctl import threadpool_limits

    # A limit holds only for libraries that are loaded when it is set.
    for module in ("scipy.optimize", "sklearn.ensemble", "sklearn.gaussian_process"):
        import_module(module)

    profiles = tuple(profiles)
    rows, scatter = training_rows(profiles), scatter_of_profiles(profiles)
    limits = limits_of(rows.fingerprint)
    require_possible(rows, work, limits)
    places: dict[str, list[int]] = {}
    for i, component in enumerate(rows.components):
        places.setdefault(family_of(component), []).append(i)
    # The matrices are small: threads of a linear-algebra library cost four times what they save.
    with threadpool_limits(1):
        families = {
            name: fit_family(
                name,
                [rows.components[i] for i in at],
                rows.label_ms[at],
                work,
                limits,
                seed=seed,
                doubt_N=rows.doubt[at],
            )
            for name, at in sorted(places.items())
        }
    scarce = [f"{name} ({len(at)})" for name, at in sorted(places.items()) if len(at) < FEWEST_FOR_RESIDUAL]
    note = f"fewer than {FEWEST_FOR_RESIDUAL} rows, so a roofline alone: {', '.join(scarce)}"
    label = "latencies are 25th percentiles of warm calls"
    notes = (
        label,
        *rows.notes,
        *plausibility_notes(rows, work, families),
        *scatter.notes,
        *([note] if scarce else []),
    )
    return FittedDeviceModel(
        families=families, rows=rows, work=work, hardware=hardware, scatter=scatter, busy_w=busy_w, notes=notes
    )
