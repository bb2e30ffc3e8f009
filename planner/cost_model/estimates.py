"""What a device model answers, and the protocol by which any device model is asked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.scatter import Scatter
from profiles.component import Component

__all__ = ["DeviceModel", "Estimates", "Floats", "HasResidencyLimits", "LatencyProvenance", "worst_provenance"]

Floats = NDArray[np.float64]
LatencyProvenance = Literal["measured", "predicted", "estimated"]
_FROM_BEST: tuple[LatencyProvenance, ...] = ("measured", "predicted", "estimated")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Estimates:
    """Latencies of components in the order asked, with 90 % intervals; all arrays of shape [N].

    `extrapolated` marks predictions beyond the measured shapes and batches.
    """

    mean_ms: Floats
    low_ms: Floats
    high_ms: Floats
    provenance: tuple[LatencyProvenance, ...]
    extrapolated: NDArray[np.bool_]

    def take(self, places: Sequence[int]) -> "Estimates":
        """Those at some of the places, in that order and as often as asked."""
        at = np.array(places, dtype=np.intp)
        return Estimates(
            mean_ms=self.mean_ms[at],
            low_ms=self.low_ms[at],
            high_ms=self.high_ms[at],
            provenance=tuple(self.provenance[i] for i in places),
            extrapolated=self.extrapolated[at],
        )


class DeviceModel(Protocol):
    """Predicts latencies on one device."""

    @property
    def provenance(self) -> LatencyProvenance:
        """What its answers rest on: `predicted` from the device's own measurements, or `estimated` without any."""
        ...

    @property
    def scatter(self) -> Scatter:
        """How single calls lie about a prediction; none where it was never measured."""
        ...

    @property
    def busy_w(self) -> float | None:
        """Power while busy, None where it is unknown."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of its answers must know: what the label is, what was assumed."""
        ...

    def predict(self, components: Sequence[Component], *, resident_bytes: int | None = None) -> Estimates:
        """Latency of each component alone.

        `resident_bytes` is what the device holds while they run (all parameters of the model), where the caller knows.

        Raises:
            UnknownNameError: a kind of component that this model has never seen.
        """
        ...

    def transfer(self, inputs: Sequence[HostInputs]) -> Estimates:
        """Time to bring the inputs of each pass to the device; zeros for the processor that holds them already."""
        ...


@runtime_checkable
class HasResidencyLimits(Protocol):
    """A device model whose answers depend on what the device holds, but only by which limits that exceeds."""

    @property
    def residency_limits(self) -> tuple[int, ...]:
        """Ascending byte counts: answers are equal for all `resident_bytes` above one and up to the next."""
        ...


def worst_provenance(parts: Iterable[LatencyProvenance]) -> LatencyProvenance:
    """The least certain of the parts: what a sum of them deserves."""
    return max(parts, key=_FROM_BEST.index)
