"""What components cost more inside a model than alone, learned from whole models that were measured.

Alone and repeated, a component finds its code, weights and activations in the caches; inside a model it does not, and
containers around it cost calls of their own. Both show most where components are many and small:

    in the model = stretch * alone + per_component
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.cost_model.estimates import Estimates, Floats, LatencyProvenance

__all__ = ["IDENTITY", "Context", "fit_context"]

_FEWEST_ROWS = 4
_STRETCH_BOUNDS = (0.5, 10.0)
# Draws the fit towards `alone` as much as a tenth of one row would.
_RIDGE = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The factor on a component's latency, and what every component adds to it, in ms."""

    stretch: float = 1.0
    per_component_ms: float = 0.0

    def place(self, alone: Estimates) -> Estimates:
        """The components' latencies inside a model; what was measured alone is predicted there."""
        if self == IDENTITY:
            return alone
        provenance: list[LatencyProvenance] = ["predicted" if p == "measured" else p for p in alone.provenance]
        mean, low, high = (
            self.stretch * value + self.per_component_ms for value in (alone.mean_ms, alone.low_ms, alone.high_ms)
        )
        return replace(alone, mean_ms=mean, low_ms=low, high_ms=high, provenance=tuple(provenance))


IDENTITY = Context()


def fit_context(measured_ms: Floats, alone_ms: Floats, components: Sequence[int]) -> Context:
    """Least squares on the relative error over whole models.

    Args:
        measured_ms: [N] latencies of whole models.
        alone_ms: [N] sums of their components' latencies, each alone.
        components: [N] how many components each has.

    With fewer than four models and batches there is nothing to learn: components cost what they cost alone.
    """
    from scipy.optimize import lsq_linear

    if len(measured_ms) < _FEWEST_ROWS:
        return IDENTITY
    design = np.column_stack((alone_ms, np.array(components, dtype=np.float64))) / measured_ms[:, None]
    scale = design.max(axis=0)
    rows = np.vstack((design / scale, _RIDGE * np.eye(2)))
    # In scaled terms, a component alone has the stretch 1 and adds nothing.
    wanted = np.concatenate((np.ones(len(measured_ms)), [_RIDGE * scale[0], 0.0]))
    least, most = np.array([_STRETCH_BOUNDS[0], 0.0]), np.array([_STRETCH_BOUNDS[1], np.inf])
    stretch, per_component_ms = lsq_linear(rows, wanted, (least * scale, most * scale), method="bvls").x / scale
    return Context(stretch=float(stretch), per_component_ms=float(per_component_ms))
