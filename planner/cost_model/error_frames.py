"""Where a validation's errors lie: by batch, and by the share of whole models that the components make up."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.cost_model.accuracy import rank_agreement
from planner.cost_model.training_rows import WHOLE_MODEL

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KindShare", "error_by_batch", "error_by_share"]

# Of a kind: (kind, share of a whole model's latency), once for each model and batch.
KindShare = tuple[str, float]


def error_by_batch(points: "pl.DataFrame") -> "pl.DataFrame":
    """Per kind and batch, rounded to a power of two: `kind, batch, rows`, errors, `coverage` and `kendall_tau`.

    Errors are `mape, median, p90, within_10, bias`; `coverage` is the share of rows inside their 90 % intervals.
    Kendall's tau is of whole models alone, over equal batches; null elsewhere.
    """
    import polars as pl

    error = pl.col("predicted_ms") / pl.col("measured_ms") - 1
    rounded = points.with_columns((2 ** pl.col("batch").log(2).round()).cast(pl.Int64).alias("batch"), error=error)
    grouped = rounded.group_by("kind", "batch").agg(
        rows=pl.len(),
        mape=pl.col("error").abs().mean(),
        median=pl.col("error").abs().median(),
        p90=pl.col("error").abs().quantile(0.9, interpolation="linear"),
        within_10=(pl.col("error").abs() <= 0.1).mean(),
        bias=pl.col("error").mean(),
        coverage=pl.col("measured_ms").is_between("low_ms", "high_ms").mean(),
    )
    return grouped.join(_taus(rounded), on=["kind", "batch"], how="left").sort("kind", "batch")


def error_by_share(points: "pl.DataFrame", shares: Sequence[KindShare]) -> "pl.DataFrame":
    """Which kinds carry the error of whole models: `kind, share, mape, bias, carried`, the largest first.

    `share` is the mean over whole models of the kind's share of their latency, `carried` is that times the kind's
    held-out error: what the model would be off by, were the other kinds exact and no error cancelled another.
    """
    import polars as pl

    schema = {"kind": pl.String, "part": pl.Float64}
    parts = pl.DataFrame([{"kind": kind, "part": part} for kind, part in shares], schema=schema)
    error = pl.col("predicted_ms") / pl.col("measured_ms") - 1
    errors = points.group_by("kind").agg(mape=error.abs().mean(), bias=error.mean())
    mean = parts.group_by("kind").agg(share=pl.col("part").mean())
    return (
        mean.join(errors, on="kind", how="left")
        .with_columns(carried=pl.col("share") * pl.col("mape"))
        .sort("carried", "kind", descending=[True, False], nulls_last=True)
    )


def _taus(points: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    schema = {"kind": pl.String, "batch": pl.Int64, "kendall_tau": pl.Float64}
    whole = points.filter(pl.col("kind") == WHOLE_MODEL)
    rows = []
    for (batch,), group in whole.group_by("batch"):
        measured, predicted = (np.asarray(group[name], dtype=np.float64) for name in ("measured_ms", "predicted_ms"))
        tau = rank_agreement([1] * group.height, measured, predicted)
        rows.append({"kind": WHOLE_MODEL, "batch": batch, "kendall_tau": tau})
    return pl.DataFrame(rows, schema=schema)
