"""A path's latency over query sizes, from the cost model."""

from collections.abc import Mapping

import numpy as np

from planner.cost_model.composition import CostModel, ModelLatency
from planner.cost_model.scatter import IDLED_MS
from representations.specs import ModelSpec
from serving_sim.plan import IdleGap, LatencyTable

__all__ = ["latency_table", "query_sizes"]

# Predictions that fall by less than this from one size to the next are noise, not worth a note.
_VISIBLE_DROP = 0.02


def query_sizes(largest: int) -> tuple[int, ...]:
    """1, 2, 4, ... up to and with the largest."""
    powers = tuple(2**i for i in range(largest.bit_length()) if 2**i < largest)
    return (*powers, largest)


def latency_table(
    cost_model: CostModel,
    model: ModelSpec,
    device: str,
    largest: int,
    zipf: Mapping[str, float] | float,
    *,
    resident_bytes: int | None = None,
) -> tuple[LatencyTable, ModelLatency, tuple[str, ...]]:
    """The table, the prediction behind it, and notes.

    A larger query never takes less time: where the predictions fall, the value before stays. Predictions are labels,
    25th percentiles without a neighbour on the core; the table holds the means of queries as they come, by what the
    device's measurements say of them (`planner.cost_model.scatter`), with what a query takes longer after idleness.
    `resident_bytes` is what all paths on the device take.
    """
    sizes = query_sizes(largest)
    predicted = cost_model.predict_model(model, sizes, device, zipf, resident_bytes=resident_bytes)
    mean, low, high = (np.maximum.accumulate(v) for v in (predicted.mean_ms, predicted.low_ms, predicted.high_ms))
    scatter = cost_model.device(device).scatter
    to_mean, sigma = scatter.mean_over_label, scatter.sigma
    table = LatencyTable(
        sizes=sizes,
        mean_ms=tuple((to_mean * mean).tolist()),
        low_ms=tuple((to_mean * low).tolist()),
        high_ms=tuple((to_mean * high).tolist()),
        spread="lognormal" if sigma > 0 else "none",
        sigma=sigma,
        idle_gap=IdleGap(after_ms=IDLED_MS / 2, added_ms=scatter.idled_ms) if scatter.idled_ms > 0 else None,
    )
    return table, predicted, _notes(model.name, device, predicted, float(np.max(mean / predicted.mean_ms)) - 1)


def _notes(model: str, device: str, predicted: ModelLatency, drop: float) -> tuple[str, ...]:
    notes = []
    if drop > _VISIBLE_DROP:
        notes.append(f"{model} on {device}: predictions fell by up to {100 * drop:.0f} % with size; kept from falling")
    if predicted.extrapolated:
        kinds = sorted({row.kind for row in predicted.components if row.extrapolated})
        notes.append(f"{model} on {device}: beyond the measured range for {', '.join(kinds)}; intervals are widened")
    return tuple(notes)
