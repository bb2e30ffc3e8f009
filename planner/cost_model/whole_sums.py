"""Measured whole models beside the sums of their components, and the context that they teach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.composition import CostModel
from planner.cost_model.context import Context, WholeSums, fit_context
from planner.cost_model.estimates import DeviceModel
from planner.cost_model.whole_models import MeasuredModel
from profiles.hardware import LOCAL_CPU
from representations.specs import ModelSpec

__all__ = ["Summed", "context_of", "sum_models"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Summed:
    """Whole models as sums; `predicted_N` is false for a sum that holds a component's measurement."""

    sums: WholeSums
    predicted_N: NDArray[np.bool_]


def context_of(
    model: DeviceModel, whole_models: Sequence[MeasuredModel], zipf: Mapping[str, float] | float = 0.0
) -> Context:
    """The context that measured models teach, for `CostModel.contexts`."""
    return fit_context(sum_models(model, whole_models, zipf).sums)


def sum_models(
    model: DeviceModel, whole_models: Sequence[MeasuredModel], zipf: Mapping[str, float] | float = 0.0
) -> Summed:
    """Each measured model as the plain sum of its components at its batch, all batches of a model at once."""
    cost_model = CostModel(models={LOCAL_CPU: model})
    rows_of: dict[ModelSpec, list[int]] = {}
    for i, one in enumerate(whole_models):
        rows_of.setdefault(one.spec, []).append(i)
    bounds, models_N = np.empty((3, len(whole_models))), np.empty(len(whole_models), dtype=np.int64)
    components_N, predicted_N = np.empty(len(whole_models)), np.empty(len(whole_models), dtype=np.bool_)
    for number, (spec, rows) in enumerate(rows_of.items()):
        batches = [whole_models[i].batch for i in rows]
        latency = cost_model.predict_model(spec, batches, LOCAL_CPU, zipf)
        bounds[:, rows] = latency.mean_ms, latency.low_ms, latency.high_ms
        models_N[rows] = number
        for row, batch in zip(rows, batches, strict=True):
            parts = latency.at(batch)
            components_N[row] = len(parts)
            predicted_N[row] = all(part.provenance == "predicted" for part in parts)
    alone_ms, low_ms, high_ms = bounds
    sums = WholeSums(
        measured_ms=np.array([one.latency.p25_ms for one in whole_models]),
        alone_ms=alone_ms,
        low_ms=low_ms,
        high_ms=high_ms,
        components_N=components_N,
        models_N=models_N,
    )
    return Summed(sums=sums, predicted_N=predicted_N)
