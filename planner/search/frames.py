"""Search results as frames."""

import json
from typing import Any

import polars as pl

from planner.search.objective import METRICS
from planner.search.records import SearchResult, TrialRecord

__all__ = ["CHOICE_COLUMNS", "trials_frame"]

CHOICE_COLUMNS = (
    "dim",
    "dhe_k",
    "dhe_width",
    "dhe_depth",
    "select_largest",
    "qr_collisions",
    "tt_rank",
    "robe_compression",
)
_TEST_COLUMNS = {f"test_{metric}": metric for metric in METRICS}
_SCHEMA: dict[str, Any] = {
    "number": pl.Int64,
    "name": pl.String,
    "state": pl.String,
    "representation": pl.String,
    **dict.fromkeys(CHOICE_COLUMNS, pl.Int64),
    **dict.fromkeys(("auc", "log_loss", "accuracy", "latency_ms"), pl.Float64),
    **dict.fromkeys(_TEST_COLUMNS, pl.Float64),
    "parameter_bytes": pl.Int64,
    "flops": pl.Float64,
    "feasible": pl.Boolean,
    "pareto": pl.Boolean,
    "reason": pl.String,
    "train_seconds": pl.Float64,
    "model": pl.String,
}


def trials_frame(result: SearchResult) -> pl.DataFrame:
    """A row per trial; `latency_ms` where it was judged, and a column `latency_ms[NAME]` for each device.

    Further costs that the search asked for have a column each, and all choices are one as JSON where features chose by
    groups.
    """
    pareto = {trial.number for trial in result.pareto}
    devices = dict.fromkeys(device for trial in result.trials for device in trial.latency_ms)
    costs = dict.fromkeys(name for trial in result.trials for name in trial.costs if name not in _SCHEMA)
    schema = {**_SCHEMA, **{f"latency_ms[{device}]": pl.Float64 for device in devices}}
    schema |= dict.fromkeys(costs, pl.Float64)
    if any("representation" not in trial.choices for trial in result.trials):
        schema["choices"] = pl.String
    rows = [_row(trial, result.latency_device, is_pareto=trial.number in pareto) for trial in result.trials]
    return pl.DataFrame(rows, schema=schema)


def _row(trial: TrialRecord, device: str, *, is_pareto: bool) -> dict[str, Any]:
    body = trial.to_object()
    return {
        **{name: body.get(name) for name in _SCHEMA},
        **{column: trial.test.get(metric) for column, metric in _TEST_COLUMNS.items()},
        **{name: trial.choices.get(name) for name in CHOICE_COLUMNS},
        **trial.costs,
        "representation": trial.choices.get("representation", trial.model.representation),
        "choices": json.dumps(body["choices"]),
        **{f"latency_ms[{name}]": latency for name, latency in trial.latency_ms.items()},
        "name": trial.model.name,
        "latency_ms": trial.value("latency_ms", device),
        "pareto": is_pareto,
        "model": json.dumps(body["model"]),
    }
