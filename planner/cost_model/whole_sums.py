"""Measured whole models beside the sums of their components, and the context that they teach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.cost_model.composition import ComponentLatency, CostModel
from planner.cost_model.context import Context, WholeSums, fit_context
from planner.cost_model.estimates import DeviceModel
from planner.cost_model.features import dimensions_of, family_of
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.pass_counts import PassCounts, joined
from planner.cost_model.traffic import TABLE_KINDS
from planner.cost_model.unseen import UnseenDeviceModel
from planner.cost_model.whole_models import MeasuredModel
from profiles.hardware import LOCAL_CPU
from representations.specs import ModelSpec

__all__ = ["Summed", "context_of", "has_table_profiles", "sum_models"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Summed:
    """Whole models as sums; `predicted_N` is false for a sum that holds a component's measurement.

    `shares` are, for each of the N, what its kinds of components make up of the sum.
    """

    sums: WholeSums
    predicted_N: NDArray[np.bool_]
    shares: tuple[Mapping[str, float], ...]


def context_of(
    model: DeviceModel, whole_models: Sequence[MeasuredModel], zipf: Mapping[str, float] | float = 0.0
) -> Context:
    """The context that measured models teach, for `CostModel.contexts`."""
    fitted = fit_context(sum_models(model, whole_models, zipf).sums)
    return replace(fitted, has_table_profiles=has_table_profiles(model))


def has_table_profiles(model: DeviceModel) -> bool:
    """Whether the device's tables were profiled behind activation traffic, in all their families.

    A model asks for tables as they were profiled: what it learned of tables that have the caches to themselves says
    nothing of others.
    """
    if isinstance(model, UnseenDeviceModel):
        return has_table_profiles(model.fitted)
    if not isinstance(model, FittedDeviceModel):
        return False
    tables = [component for component in model.rows.components if component.kind in TABLE_KINDS]
    within = {family_of(component) for component in tables if dimensions_of(component)["context_bytes"] > 0}
    return bool(tables) and within == {family_of(component) for component in tables}


def sum_models(
    model: DeviceModel, whole_models: Sequence[MeasuredModel], zipf: Mapping[str, float] | float = 0.0
) -> Summed:
    """Each measured model as the plain sum of its components at its batch, all batches of a model at once."""
    context = Context(has_table_profiles=has_table_profiles(model))
    cost_model = CostModel(models={LOCAL_CPU: model}, contexts={LOCAL_CPU: context})
    rows_of: dict[ModelSpec, list[int]] = {}
    for i, one in enumerate(whole_models):
        rows_of.setdefault(one.spec, []).append(i)
    bounds, models_N = np.empty((3, len(whole_models))), np.empty(len(whole_models), dtype=np.int64)
    counts: list[PassCounts] = []
    order: list[int] = []
    predicted_N = np.empty(len(whole_models), dtype=np.bool_)
    shares: list[Mapping[str, float]] = [{} for _ in whole_models]
    for number, (spec, rows) in enumerate(rows_of.items()):
        batches = [whole_models[i].batch for i in rows]
        latency = cost_model.predict_model(spec, batches, LOCAL_CPU, zipf)
        bounds[:, rows] = latency.mean_ms, latency.low_ms, latency.high_ms
        models_N[rows] = number
        counts.append(latency.counts)
        order += rows
        for row, batch in zip(rows, batches, strict=True):
            parts = latency.at(batch)
            predicted_N[row] = all(part.provenance == "predicted" for part in parts)
            shares[row] = _shares_of_kinds(parts)
    alone_ms, low_ms, high_ms = bounds
    sums = WholeSums(
        measured_ms=np.array([one.latency.p25_ms for one in whole_models]),
        alone_ms=alone_ms,
        low_ms=low_ms,
        high_ms=high_ms,
        counts=joined(counts).take(np.argsort(order)),
        models_N=models_N,
    )
    return Summed(sums=sums, predicted_N=predicted_N, shares=tuple(shares))


def _shares_of_kinds(parts: Sequence[ComponentLatency]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for part in parts:
        shares[part.kind] = shares.get(part.kind, 0.0) + part.share
    return shares
