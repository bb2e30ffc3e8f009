"""A replay's files: every query as it was served, latencies measured beside simulated, and a page of charts."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from serving_sim.charts import latency_chart
from serving_sim.charts_page import save_page
from serving_sim.replay.charts import drift_chart, paths_chart
from serving_sim.replay.comparison import RunComparison
from serving_sim.replay.replaying import Replay

if TYPE_CHECKING:
    import polars as pl

__all__ = ["latency_frame", "paths_frame", "queries_frame", "save_replay"]

_MEASURED = "measured"
_MOST_POINTS = 400
_PAGE, _OBJECT = "replay.html", "replay.json"


def save_replay(replay: Replay, folder: Path) -> tuple[str, ...]:
    """Write the replay's object (JSON), its frames (CSV, Parquet) and a page that opens offline; their names.

    Raises:
        StorageError: the folder cannot be made or written to.
    """
    import json

    import polars as pl

    from profiles.files import make_folder, replace_file

    make_folder(folder)
    replace_file(folder / _OBJECT, json.dumps(replay.to_object(), indent=2) + "\n")
    frames = {"queries": queries_frame, "latency": latency_frame, "paths": paths_frame}
    for name, frame_of in frames.items():
        whole = pl.concat([frame_of(run).select(pl.lit(_label(run)).alias("run"), pl.all()) for run in replay.runs])
        whole.write_csv(folder / f"{name}.csv")
        whole.write_parquet(folder / f"{name}.parquet")
    rows = [row for run in replay.runs for row in _charts(run)]
    save_page(rows, f"{replay.plan} under {replay.policy}, served", folder / _PAGE)
    return (_OBJECT, *(f"{name}.csv" for name in frames), _PAGE)


def queries_frame(run: RunComparison) -> "pl.DataFrame":
    """A row per query, times in ms from the start; of a refused one there is no path, and times are null.

    `arrival_ms, size, class, path, sent_ms, start_ms, finish_ms, latency_ms, is_judged`.
    """
    import polars as pl

    trace = run.trace
    names = np.array([*(path.name for path in run.paths), None], dtype=object)
    columns = {
        "arrival_ms": trace.queries.arrival_ms_N,
        "size": trace.queries.size_N,
        "class": trace.queries.class_N,
        "path": names[trace.path_N].tolist(),
        "sent_ms": trace.sent_ms_N,
        "start_ms": trace.start_ms_N,
        "finish_ms": trace.finish_ms_N,
        "latency_ms": trace.latency_ms_N,
        "is_judged": run.is_judged_N,
    }
    return pl.DataFrame(columns, schema_overrides={"path": pl.String}, nan_to_null=True)


def latency_frame(run: RunComparison) -> "pl.DataFrame":
    """Share of the judged queries slower than each latency, measured and simulated: `series, latency_ms,
    slower_share`, at most 400 rows a series. A refused query is slower than any latency.
    """
    import polars as pl

    measured_ms = run.trace.latency_ms_N[run.is_judged_N]
    rows = [
        {"series": name, "latency_ms": latency_ms, "slower_share": share}
        for name, latencies_ms in {_MEASURED: measured_ms, **run.simulated_ms_by}.items()
        for latency_ms, share in _slower(latencies_ms)
    ]
    return pl.DataFrame(rows, schema={"series": pl.String, "latency_ms": pl.Float64, "slower_share": pl.Float64})


def _slower(latencies_ms: NDArray[np.float64]) -> Iterator[tuple[float, float]]:
    ordered = np.sort(latencies_ms[np.isfinite(latencies_ms)])
    for place in np.unique(np.linspace(0, len(ordered) - 1, min(_MOST_POINTS, len(ordered))).astype(int)).tolist():
        yield float(ordered[place]), 1 - (place + 1) / len(latencies_ms)


def paths_frame(run: RunComparison) -> "pl.DataFrame":
    """A row per path and side (`measured`, `simulated`) of the judged queries: `path, side, share, p50_ms, p95_ms,
    p99_ms, sla_violation_share`; figures are null where no query took the path.
    """
    import polars as pl

    sides = [
        (path.name, side, share, figures)
        for path in run.paths
        for side, share, figures in (
            (_MEASURED, path.share, path.beside.measured),
            ("simulated", path.simulated_share, path.beside.simulated),
        )
    ]
    rows = [
        (name, side, share, *((None,) * 4 if one is None else (one.p50, one.p95, one.p99, one.sla_violation_share)))
        for name, side, share, one in sides
    ]
    numbers = dict.fromkeys(("share", "p50_ms", "p95_ms", "p99_ms", "sla_violation_share"), pl.Float64)
    return pl.DataFrame(rows, schema={"path": pl.String, "side": pl.String, **numbers}, orient="row")


def _charts(run: RunComparison) -> Iterator[tuple[Any, ...]]:
    """Rows of charts."""
    at = _label(run)
    yield (
        latency_chart(latency_frame(run), *run.slas_ms, column="series", title=f"Latency at {at}"),
        drift_chart(queries_frame(run), f"Latency over time at {at}"),
    )
    yield (paths_chart(paths_frame(run), f"Latency by path at {at}"),)


def _label(run: RunComparison) -> str:
    rate = f"{run.qps:,.4g} queries/s"
    return rate if run.load is None else f"load {run.load:g} ({rate})"
