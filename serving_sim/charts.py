"""Charts of serving: a pure function to a frame for each, and a thin renderer of that frame."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from serving_sim.charts_axes import line_channels, sla_rules
from serving_sim.engine import SimulationOptions, simulate
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = [
    "latency_chart",
    "latency_frame",
    "path_share_chart",
    "path_share_frame",
    "violations_chart",
    "violations_over_qps",
]

_MOST_POINTS = 400


def latency_frame(results: Mapping[str, SimulationResult]) -> "pl.DataFrame":
    """Share of queries slower than each latency: `policy, latency_ms, slower_share`, at most 400 rows a policy, and
    none of one that served nothing.
    """
    import polars as pl

    frames = [pl.DataFrame(schema={"policy": pl.String, "latency_ms": pl.Float64, "slower_share": pl.Float64})]
    for label, result in results.items():
        counts = result.latency_histogram.counts
        if not counts.any():
            continue
        slower = 1 - np.cumsum(counts) / counts.sum()
        # The rounding error of the last sum would show on a log scale; the last bin has nothing above it.
        slower[-1] = 0.0
        kept = np.unique(np.linspace(0, len(counts) - 1, min(_MOST_POINTS, len(counts))).astype(int))
        columns = {"latency_ms": result.latency_histogram.edges_ms[1:][kept], "slower_share": slower[kept]}
        frames.append(pl.DataFrame({"policy": [label] * len(kept), **columns}))
    return pl.concat(frames)


def latency_chart(frame: "pl.DataFrame", *slas_ms: float, column: str = "policy", title: str = "") -> "alt.LayerChart":
    """The survival curve of latency on log scales for each value of a column, with a rule at each SLA: what is right of
    it violates it.
    """
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    curves = (
        alt.Chart(frame.filter(pl.col("slower_share") > 0))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("latency_ms:Q", scale=alt.Scale(type="log"), title="latency (ms)", axis=_log_axis()),
            y=alt.Y("slower_share:Q", scale=alt.Scale(type="log"), title="share of queries slower", axis=_percent()),
            **line_channels(frame, column, column),
            tooltip=[
                f"{column}:N",
                alt.Tooltip("latency_ms:Q", format=".3g"),
                alt.Tooltip("slower_share:Q", format=".3%"),
            ],
        )
    )
    chart: alt.LayerChart = curves + sla_rules(slas_ms, "x")
    whose = "the SLA" if len(slas_ms) == 1 else "the classes' SLAs"
    shown = ", ".join(f"{sla_ms:g}" for sla_ms in slas_ms)
    return themed(chart.properties(title=title or f"Latency against {whose} of {shown} ms"))


def path_share_frame(result: SimulationResult) -> "pl.DataFrame":
    """Which path each size class took: `path, size_class, size_from, size_to, queries, share` (of the class).

    Where a policy splits queries over paths, `samples` in place of `queries`.
    """
    import polars as pl

    counts_PC = np.array(list(result.path_share_by_size.values()))
    totals_C = counts_PC.sum(axis=0)
    rows = [
        {
            "path": path,
            "size_class": size_class,
            "size_from": 2**size_class,
            "size_to": 2 ** (size_class + 1) - 1,
            result.path_share_of: int(counts_PC[place, size_class]),
            "share": counts_PC[place, size_class] / totals_C[size_class],
        }
        for place, path in enumerate(result.path_share_by_size)
        for size_class in np.flatnonzero(totals_C).tolist()
    ]
    whole = ("size_class", "size_from", "size_to", result.path_share_of)
    schema = {"path": pl.String, **dict.fromkeys(whole, pl.Int64), "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def path_share_chart(frame: "pl.DataFrame") -> "alt.Chart":
    """Stacked shares of paths over query size."""
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    counted = "samples" if "samples" in frame.columns else "queries"
    first, last = pl.col("size_from").cast(pl.String), pl.col("size_to").cast(pl.String)
    labelled = frame.with_columns(label=pl.when(first == last).then(first).otherwise(first + "-" + last))
    order = labelled.sort("size_class")["label"].unique(maintain_order=True).to_list()
    chart: alt.Chart = (
        alt.Chart(labelled)
        .mark_bar()
        .encode(
            x=alt.X("label:N", sort=order, title="query size (samples)"),
            y=alt.Y("share:Q", stack="zero", title=f"share of {counted}", axis=_percent()),
            color=alt.Color("path:N", title="path"),
            tooltip=["path:N", "label:N", f"{counted}:Q", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    return themed(chart.properties(title="Path taken, by query size"))


def violations_over_qps(
    plan: Plan,
    policies: Sequence[PolicyLike],
    qps_values: Sequence[float],
    *,
    options: SimulationOptions | None = None,
) -> "pl.DataFrame":
    """SLA violations of each policy at each rate, over the same queries: `policy, qps, violation_share, verdict`."""
    import polars as pl

    quiet = options or SimulationOptions(fluid_bound=False, exact_queries=0)
    results = [simulate(plan, policy=policy, qps=qps, options=quiet) for policy in policies for qps in qps_values]
    columns = ("policy", "qps", "violation_share", "verdict")
    rows = [(result.policy, float(result.qps), result.sla_violation_share, result.verdict) for result in results]
    return pl.DataFrame(rows, schema=columns, orient="row")


def violations_chart(frame: "pl.DataFrame", allowed_share: float) -> "alt.LayerChart":
    """Violations over the offered rate, with a rule at the share that the SLA percentile allows (0.01 for p99)."""
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    lines = (
        alt.Chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X("qps:Q", title="offered queries per second"),
            y=alt.Y("violation_share:Q", title="queries above the SLA", axis=_percent()),
            **line_channels(frame, "policy"),
            tooltip=["policy:N", "qps:Q", alt.Tooltip("violation_share:Q", format=".3%"), "verdict:N"],
        )
    )
    limit = alt.Chart(pl.DataFrame({"allowed": [allowed_share]})).mark_rule(strokeDash=[4, 4]).encode(y="allowed:Q")
    chart: alt.LayerChart = lines + limit
    return themed(chart.properties(title="SLA violations over load"))


def _log_axis() -> "alt.Axis":
    """Labels of a log scale that leave room between them: where they would touch, only some stay."""
    import altair as alt

    return alt.Axis(format="~g", labelOverlap="greedy", labelSeparation=8)


def _percent() -> "alt.Axis":
    import altair as alt

    return alt.Axis(format="~%")
