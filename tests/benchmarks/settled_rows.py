"""Held-out errors of components by whether their labels are sure: whether the two fastest visits agree."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from planner.cost_model.accuracy import summarise_errors
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.training_rows import component_of
from profiles.agreement import VISITS_APART
from profiles.records import ComponentProfile
from tests.benchmarks.markdown import percent

__all__ = ["settled_errors", "settled_text"]


def settled_errors(model: FittedDeviceModel, rows: Iterable[ComponentProfile], agreement: float) -> dict[str, Any]:
    """Of rows whose two fastest visits are at most `agreement` apart, and of the others; None where there are none."""
    apart = {component_of(row): row.figures.get(VISITS_APART) for row in rows if row.warm}
    found = [
        (measured_ms, predicted_ms, (apart.get(component) or 0.0) <= agreement)
        for family in model.families.values()
        for component, measured_ms, predicted_ms in zip(
            family.held_out.components, family.held_out.measured_ms, family.held_out.predicted_ms, strict=True
        )
    ]
    measured_N, predicted_N, settled_N = (np.array(column) for column in zip(*found, strict=True))
    return {
        "agreement": agreement,
        **{
            name: _errors(measured_N[own_N], predicted_N[own_N])
            for name, own_N in (("settled", settled_N), ("others", ~settled_N))
        },
    }


def settled_text(found: dict[str, Any]) -> str:
    """In a sentence."""
    settled, others = (_text(found[name]) for name in ("settled", "others"))
    return f"Rows whose two fastest visits agree within {percent(found['agreement'])}: {settled}. The others: {others}."


def _errors(measured_ms: Any, predicted_ms: Any) -> dict[str, float] | None:
    if not len(measured_ms):
        return None
    errors = summarise_errors(measured_ms, predicted_ms)
    return {"rows": errors.rows, "mape": errors.mape, "p90": errors.p90, "within_10": errors.within_10}


def _text(errors: dict[str, float] | None) -> str:
    if errors is None:
        return "none"
    return (
        f"{errors['rows']}, MAPE {percent(errors['mape'])}, p90 {percent(errors['p90'])}, "
        f"{percent(errors['within_10'])} within 10 %"
    )
