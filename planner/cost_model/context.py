"""What components cost more inside a model than alone, learned from whole models that were measured.

Alone and repeated, a component finds its code, weights and activations in the caches; inside a model it does not, and
the modules that contain it cost calls of their own. These show most where components are many and small, the loss of
the caches where batches are large and tables stand among wide activations (`displaced` bytes, see `traffic`):

    in the model = stretch * alone + per_component + per_container * containers + per_family * families
                   + per_distance * code_distance + per_byte * traffic + per_kept_byte * kept
                   + per_displaced_byte * displaced

Containers are counted once in all, so in a component by their shares (see `containers`). The first component of a
family finds its code cold, and any other the colder the more families ran since. Activations (`traffic`, of all but
tables) come from farther away than alone, where the same ones are read again and again; `kept` is as much of them as a
core's cache holds. The model is linear, so that it can be evaluated on sums over components.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Estimates, Floats, LatencyProvenance
from planner.cost_model.intervals import half_width
from planner.cost_model.pass_counts import COUNTS, PassCounts

__all__ = ["IDENTITY", "Bounds", "Context", "WholeSums", "fit_context", "leave_one_model_out"]

# Mean, low and high.
Bounds = tuple[Floats, Floats, Floats]
_FEWEST_ROWS = 4
# Tables behind traffic find their code colder than in a model, where others ran just before.
_STRETCH_BOUNDS = (0.8, 10.0)
# Draws the fit towards `alone` as much as a tenth of one row would.
_RIDGE = 0.1
# The counts that a fit weighs beside the stretch, plainer ones first; None leaves components as they are alone.
_Form = frozenset[str] | None
_CALLS = frozenset({"components", "containers"})
_FORMS: tuple[_Form, ...] = (None, _CALLS, _CALLS | {"families", "code_distance", "displaced_bytes"}, frozenset(COUNTS))
_CLEARLY_BETTER = 0.95
# With fewer models, those left after one is taken out do not tell forms apart.
_FEWEST_MODELS = 3


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WholeSums:
    """Measured whole models beside the sums of their components alone, with the sums' bounds; arrays of shape [N].

    `models_N` numbers the models: rows of one model at several batches share a number.
    """

    measured_ms: Floats
    alone_ms: Floats
    low_ms: Floats
    high_ms: Floats
    counts: PassCounts
    models_N: NDArray[np.int64]

    def take(self, rows: NDArray[np.bool_]) -> "WholeSums":
        """Some of the rows."""
        return WholeSums(
            measured_ms=self.measured_ms[rows],
            alone_ms=self.alone_ms[rows],
            low_ms=self.low_ms[rows],
            high_ms=self.high_ms[rows],
            counts=self.counts.take(rows),
            models_N=self.models_N[rows],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The factor on a component's latency, and what every count of a pass adds (see `PassCounts`).

    `half_width`, in logs, is what the components' own intervals lack to cover nine in ten whole models. With
    `has_table_profiles`, tables are asked for behind the model's own traffic, as they were profiled.
    """

    stretch: float = 1.0
    per_component_ms: float = 0.0
    per_container_ms: float = 0.0
    per_family_ms: float = 0.0
    per_distance_ms: float = 0.0
    per_byte_ms: float = 0.0
    per_kept_byte_ms: float = 0.0
    per_displaced_byte_ms: float = 0.0
    half_width: float = 0.0
    has_table_profiles: bool = False

    @property
    def changes_nothing(self) -> bool:
        """Whether components cost in a model what they cost alone."""
        return replace(self, has_table_profiles=False) == IDENTITY

    @property
    def prices_ms(self) -> tuple[float, ...]:
        """What one of each count adds, in the order of `COUNTS`."""
        return (
            self.per_component_ms,
            self.per_container_ms,
            self.per_family_ms,
            self.per_distance_ms,
            self.per_byte_ms,
            self.per_kept_byte_ms,
            self.per_displaced_byte_ms,
        )

    def place(self, alone: Estimates, counts: PassCounts) -> Estimates:
        """The components' latencies inside a model; what was measured alone is predicted there."""
        if self.changes_nothing:
            return alone
        provenance: list[LatencyProvenance] = ["predicted" if p == "measured" else p for p in alone.provenance]
        mean, low, high = self.place_bounds((alone.mean_ms, alone.low_ms, alone.high_ms), counts)
        return replace(alone, mean_ms=mean, low_ms=low, high_ms=high, provenance=tuple(provenance))

    def place_sums(self, sums: WholeSums) -> Bounds:
        """[N]: mean and bounds of whole models."""
        return self.place_bounds((sums.alone_ms, sums.low_ms, sums.high_ms), sums.counts)

    def place_bounds(self, alone: Bounds, counts: PassCounts) -> Bounds:
        """Mean, low and high in ms of components or of sums of them, with what their counts add."""
        added: Floats = np.zeros(len(counts.components))
        for price_ms, column in zip(self.prices_ms, counts.columns(), strict=True):
            added += price_ms * column
        mean, low, high = (self.stretch * value + added for value in alone)
        factor = np.exp(self.half_width)
        return mean, low / factor, high * factor


IDENTITY = Context()


def fit_context(sums: WholeSums) -> Context:
    """Least squares on the relative error over whole models, and intervals from models left out one at a time.

    These also say which counts matter: few models cannot tell all of them apart, so that a richer form must predict
    models left out better than a plainer one. With fewer than four models and batches there is nothing to learn:
    components cost what they cost alone.
    """
    if len(sums.measured_ms) < _FEWEST_ROWS:
        return IDENTITY
    form, (_, low, high) = _best_form(sums)
    # How far a measurement lies outside its interval, 0 inside (conformalised intervals: Romano et al., 2019).
    outside = np.maximum(np.log(low / sums.measured_ms), np.log(sums.measured_ms / high))
    return replace(_without_width(sums, form), half_width=half_width(np.maximum(outside, 0.0)))


def _best_form(sums: WholeSums) -> tuple[_Form, Bounds]:
    """The counts that a context should weigh, and what models left out are predicted by it."""
    forms = _FORMS if len(np.unique(sums.models_N)) >= _FEWEST_MODELS else (_CALLS,)
    found = {form: leave_one_model_out(sums, partial(_without_width, form=form)) for form in forms}
    error = {form: float(np.mean(np.abs(mean / sums.measured_ms - 1))) for form, (mean, _, _) in found.items()}
    best = forms[0]
    for form in forms[1:]:
        best = form if error[form] < _CLEARLY_BETTER * error[best] else best
    return best, found[best]


def leave_one_model_out(sums: WholeSums, fit: Callable[[WholeSums], Context]) -> Bounds:
    """[N]: mean and bounds of each model in the context that the other models teach, at whatever batch."""
    bounds = np.empty((3, len(sums.measured_ms)))
    for model in np.unique(sums.models_N):
        held = sums.models_N == model
        bounds[:, held] = fit(sums.take(~held)).place_sums(sums.take(held))
    mean, low, high = bounds
    return mean, low, high


def _without_width(sums: WholeSums, form: _Form) -> Context:
    from scipy.optimize import lsq_linear

    if form is None or len(sums.measured_ms) < _FEWEST_ROWS:
        return IDENTITY
    counts = [column * (name in form) for name, column in zip(COUNTS, sums.counts.columns(), strict=True)]
    design = np.column_stack((sums.alone_ms, *counts)) / sums.measured_ms[:, None]
    largest = design.max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    rows = np.vstack((design / scale, _RIDGE * np.eye(len(scale))))
    # In scaled terms, a component alone has the stretch 1 and adds nothing.
    nothing = np.zeros(len(scale) - 1)
    wanted = np.concatenate((np.ones(len(design)), [_RIDGE * scale[0]], nothing))
    least = np.concatenate(([_STRETCH_BOUNDS[0]], nothing))
    most = np.concatenate(([_STRETCH_BOUNDS[1]], np.full(len(nothing), np.inf)))
    stretch, *prices_ms = (lsq_linear(rows, wanted, (least * scale, most * scale), method="bvls").x / scale).tolist()
    per_component, per_container, per_family, per_distance, per_byte, per_kept_byte, per_displaced_byte = prices_ms
    return Context(
        stretch=stretch,
        per_component_ms=per_component,
        per_container_ms=per_container,
        per_family_ms=per_family,
        per_distance_ms=per_distance,
        per_byte_ms=per_byte,
        per_kept_byte_ms=per_kept_byte,
        per_displaced_byte_ms=per_displaced_byte,
    )
