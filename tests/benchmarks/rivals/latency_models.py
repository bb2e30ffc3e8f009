"""Simpler models of a component's latency, held out on the folds that the cost model is held out on.

Array suffixes: N components of one family.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from planner.cost_model.accuracy import summarise_errors
from planner.cost_model.estimates import Floats
from planner.cost_model.features import CostDrivers, WorkFormula, drivers_of
from planner.cost_model.intervals import FOLDS, fold_numbers
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.roofline import PhysicalLimits, fit_roofline
from planner.cost_model.training_rows import limits_of
from profiles.component import Component

__all__ = ["RIVALS", "held_out_errors"]

Predict = Callable[[CostDrivers, Floats, CostDrivers, PhysicalLimits], Floats]


def _roofline(known: CostDrivers, label_ms: Floats, asked: CostDrivers, limits: PhysicalLimits) -> Floats:
    return fit_roofline(known, label_ms, limits).predict(asked)


def _boosting(known: CostDrivers, label_ms: Floats, asked: CostDrivers, limits: PhysicalLimits) -> Floats:
    from sklearn.ensemble import GradientBoostingRegressor

    del limits
    # As the cost model's own trees, which it fits to what its roofline leaves.
    trees = GradientBoostingRegressor(
        n_estimators=120, learning_rate=0.08, max_depth=4, min_samples_leaf=2, subsample=0.7, random_state=0
    )
    trees.fit(known.features(), np.log(label_ms))
    predicted: Floats = np.exp(trees.predict(asked.features()))
    return predicted


RIVALS: Mapping[str, Predict] = {"roofline": _roofline, "boosting": _boosting}


def held_out_errors(model: FittedDeviceModel, seed: int) -> list[dict[str, Any]]:
    """Per rival and kind of component, its errors on the rows that the cost model predicts held out."""
    limits = limits_of(model.rows.fingerprint)
    found: list[dict[str, Any]] = []
    for name, predict in RIVALS.items():
        pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for family in model.families.values():
            one = family.held_out
            if not one.components:
                continue
            predicted = _held_out(one.components, one.measured_ms, model.work, limits, predict, seed)
            pairs[family.kind] += zip(one.measured_ms.tolist(), predicted.tolist(), strict=True)
        for kind, rows in sorted(pairs.items()):
            measured, predicted = np.array(rows).T
            found.append({"model": name, "kind": kind, **asdict(summarise_errors(measured, predicted))})
    return found


def _held_out(
    components: Sequence[Component],
    label_ms: Floats,
    work: WorkFormula,
    limits: PhysicalLimits,
    predict: Predict,
    seed: int,
) -> Floats:
    drivers, fold_N = drivers_of(components, work), fold_numbers(components, seed=seed)
    predicted = np.empty(len(label_ms))
    for fold in range(FOLDS):
        held, kept = np.flatnonzero(fold_N == fold), np.flatnonzero(fold_N != fold)
        if len(held):
            predicted[held] = predict(drivers.take(kept), label_ms[kept], drivers.take(held), limits)
    return predicted
