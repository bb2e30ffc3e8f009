"""A thorough validation, made by hand from the sample's."""

from dataclasses import replace
from typing import Any

from planner.report.inputs import ValidationInputs
from tests.planner.report.sample import sample_validation

__all__ = ["thorough_validation"]

KINDS = ("linear", "embedding", "elementwise", "dhe_encoder", "interaction")


def thorough_validation() -> ValidationInputs:
    plain = sample_validation()
    more: dict[str, Any] = {
        "by_batch": [
            {"kind": kind, "batch": batch, "rows": 9, "mape": 0.03 + 0.01 * i, "p90": 0.1, "bias": -0.01}
            | ({"kendall_tau": 0.9} if kind == "model" else {})
            for kind in (*KINDS, "model")
            for i, batch in enumerate((1, 32, 1024))
        ],
        "by_share": [
            {"kind": kind, "share": 0.2, "mape": 0.055, "bias": 0.0, "carried": 0.011 - 0.001 * i}
            for i, kind in enumerate(KINDS)
        ],
        "in_situ": [
            {
                "model": "trial-3",
                "representation": "table",
                "batch": 128,
                "measured_ms": 1.0,
                "predicted_ms": 1.1,
                "error": 0.1,
                "gross_error": 0.3,
                "cancelled": 0.2,
                "kinds": [
                    {"kind": "embedding", "measured_ms": 0.6, "predicted_ms": 0.8},
                    {"kind": "linear", "measured_ms": 0.4, "predicted_ms": 0.3},
                ],
            }
        ],
    }
    return replace(
        plain,
        summary={**plain.summary, **more},
        learning_curve=tuple(
            {"kind": kind, "family": kind, "points": count, "order": order, "mape": 0.8 / count**0.5 + 0.01 * order}
            for kind in KINDS
            for count in (10, 30, 90)
            for order in range(3)
        ),
        in_situ=tuple(
            {
                "model": "trial-3",
                "representation": "table",
                "batch": 128,
                "path": path,
                "kind": kind,
                "measured_ms": 0.2,
                "predicted_ms": 0.2 + part,
                "part": part,
            }
            for path, kind, part in (("e.0", "embedding", 0.15), ("e.1", "embedding", 0.05), ("m.0", "linear", -0.1))
        ),
    )
