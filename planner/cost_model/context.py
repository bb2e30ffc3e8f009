"""What components cost more inside a model than alone, learned from whole models that were measured.

Alone and repeated, a component finds its code, weights and activations in the caches; inside a model it does not, and
the modules that contain it cost calls of their own. These show most where components are many and small, the loss of
the caches where batches are large and tables stand among wide activations (`displaced` bytes, see `traffic`):

    in the model = stretch * alone + per_component + per_container * containers + per_displaced_byte * displaced

Containers are counted once in all, so in a component by their shares (see `containers`). The model is linear, so that
it can be evaluated on sums over components.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.estimates import Estimates, Floats, LatencyProvenance
from planner.cost_model.intervals import half_width

__all__ = ["IDENTITY", "Bounds", "Context", "WholeSums", "fit_context", "leave_one_model_out"]

# Mean, low and high.
Bounds = tuple[Floats, Floats, Floats]
Count = TypeVar("Count", float, Floats)
_FEWEST_ROWS = 4
_STRETCH_BOUNDS = (0.5, 10.0)
# Draws the fit towards `alone` as much as a tenth of one row would.
_RIDGE = 0.1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WholeSums:
    """Measured whole models beside the sums of their components alone, with the sums' bounds; arrays of shape [N].

    `models_N` numbers the models: rows of one model at several batches share a number.
    """

    measured_ms: Floats
    alone_ms: Floats
    low_ms: Floats
    high_ms: Floats
    components_N: Floats
    containers_N: Floats
    displaced_N: Floats
    models_N: NDArray[np.int64]

    def take(self, rows: NDArray[np.bool_]) -> "WholeSums":
        """Some of the rows."""
        return WholeSums(
            measured_ms=self.measured_ms[rows],
            alone_ms=self.alone_ms[rows],
            low_ms=self.low_ms[rows],
            high_ms=self.high_ms[rows],
            components_N=self.components_N[rows],
            containers_N=self.containers_N[rows],
            displaced_N=self.displaced_N[rows],
            models_N=self.models_N[rows],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The factor on a component's latency, and what every component, container and displaced byte of a table adds.

    `half_width`, in logs, is what the components' own intervals lack to cover nine in ten whole models. With
    `has_table_profiles`, tables are asked for behind the model's own traffic, as they were profiled.
    """

    stretch: float = 1.0
    per_component_ms: float = 0.0
    per_container_ms: float = 0.0
    per_displaced_byte_ms: float = 0.0
    half_width: float = 0.0
    has_table_profiles: bool = False

    @property
    def changes_nothing(self) -> bool:
        """Whether components cost in a model what they cost alone."""
        return replace(self, has_table_profiles=False) == IDENTITY

    def place(self, alone: Estimates, containers: Floats, displaced_bytes: Floats) -> Estimates:
        """The components' latencies inside a model; what was measured alone is predicted there."""
        if self.changes_nothing:
            return alone
        provenance: list[LatencyProvenance] = ["predicted" if p == "measured" else p for p in alone.provenance]
        bounds = alone.mean_ms, alone.low_ms, alone.high_ms
        mean, low, high = self.place_bounds(
            bounds, self.added_ms(np.ones(len(containers)), containers), displaced_bytes
        )
        return replace(alone, mean_ms=mean, low_ms=low, high_ms=high, provenance=tuple(provenance))

    def place_sums(self, sums: WholeSums) -> Bounds:
        """[N]: mean and bounds of whole models."""
        added_ms = self.added_ms(sums.components_N, sums.containers_N)
        return self.place_bounds((sums.alone_ms, sums.low_ms, sums.high_ms), added_ms, sums.displaced_N)

    def added_ms(self, components: Count, containers: Count) -> Count:
        """What so many components and containers add."""
        return self.per_component_ms * components + self.per_container_ms * containers

    def place_bounds(self, alone: Bounds, added_ms: Floats, displaced_bytes: Floats) -> Bounds:
        """Mean, low and high in ms of components or of sums of them, with what is added to them and displaced bytes."""
        added = added_ms + self.per_displaced_byte_ms * displaced_bytes
        mean, low, high = (self.stretch * value + added for value in alone)
        factor = np.exp(self.half_width)
        return mean, low / factor, high * factor


IDENTITY = Context()


def fit_context(sums: WholeSums) -> Context:
    """Least squares on the relative error over whole models, and intervals from models left out one at a time.

    With fewer than four models and batches there is nothing to learn: components cost what they cost alone.
    """
    if len(sums.measured_ms) < _FEWEST_ROWS:
        return IDENTITY
    _, low, high = leave_one_model_out(sums, _without_width)
    # How far a measurement lies outside its interval, 0 inside (conformalised intervals: Romano et al., 2019).
    outside = np.maximum(np.log(low / sums.measured_ms), np.log(sums.measured_ms / high))
    return replace(_without_width(sums), half_width=half_width(np.maximum(outside, 0.0)))


def leave_one_model_out(sums: WholeSums, fit: Callable[[WholeSums], Context]) -> Bounds:
    """[N]: mean and bounds of each model in the context that the other models teach, at whatever batch."""
    bounds = np.empty((3, len(sums.measured_ms)))
    for model in np.unique(sums.models_N):
        held = sums.models_N == model
        bounds[:, held] = fit(sums.take(~held)).place_sums(sums.take(held))
    mean, low, high = bounds
    return mean, low, high


def _without_width(sums: WholeSums) -> Context:
    from scipy.optimize import lsq_linear

    if len(sums.measured_ms) < _FEWEST_ROWS:
        return IDENTITY
    columns = (sums.alone_ms, sums.components_N, sums.containers_N, sums.displaced_N)
    design = np.column_stack(columns) / sums.measured_ms[:, None]
    largest = design.max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    rows = np.vstack((design / scale, _RIDGE * np.eye(len(scale))))
    # In scaled terms, a component alone has the stretch 1 and adds nothing.
    wanted = np.concatenate((np.ones(len(design)), [_RIDGE * scale[0], 0.0, 0.0, 0.0]))
    least, most = np.array([_STRETCH_BOUNDS[0], 0.0, 0.0, 0.0]), np.array([_STRETCH_BOUNDS[1], *[np.inf] * 3])
    found = lsq_linear(rows, wanted, (least * scale, most * scale), method="bvls").x / scale
    stretch, per_component_ms, per_container_ms, per_displaced_byte_ms = found.tolist()
    return Context(
        stretch=stretch,
        per_component_ms=per_component_ms,
        per_container_ms=per_container_ms,
        per_displaced_byte_ms=per_displaced_byte_ms,
    )
