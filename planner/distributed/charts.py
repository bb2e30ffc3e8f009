"""Charts of distributed training: pure functions to rows, and thin renderers to Vega-Lite."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from planner.distributed.iteration.iteration_time import IterationTime
from planner.distributed.plan import ShardingPlan
from planner.distributed.scaling import ScalingPoint
from profiles.charts.theme import PALETTE, themed

__all__ = [
    "WAITING",
    "load_chart",
    "load_rows",
    "scaling_chart",
    "scaling_rows",
    "sensitivity_chart",
    "timeline_chart",
    "timeline_ranks",
    "timeline_rows",
]

Rows = list[dict[str, Any]]
WAITING = "waiting for other ranks"
_KINDS: Mapping[str, str] = {
    "dense": "matrix products",
    "look-ups": "look-ups and updates",
    "exchange": "AlltoAll, reduce-scatter, all-gather",
    "reduce": "AllReduce",
    "input exchange": "ids of the next batch",
    "host link": "host link",
}
_STREAMS = tuple(_KINDS)
_COLOURS = {
    "matrix products": PALETTE[0],
    "look-ups and updates": PALETTE[5],
    "AlltoAll, reduce-scatter, all-gather": PALETTE[1],
    "AllReduce": PALETTE[3],
    "ids of the next batch": PALETTE[4],
    "host link": PALETTE[2],
    WAITING: "#d5dade",
}
_INK, _GREY = "#1f2933", "#8a949e"
_LANE_HEIGHT, _WIDTH = 17, 720
_MOST_RANKS = 4


def timeline_ranks(time: IterationTime, most: int = _MOST_RANKS) -> tuple[int, ...]:
    """The ranks worth looking at: those that others wait for, and the one that waits longest; at most `most`."""
    schedule = time.schedule
    waits_TR = schedule.start_s_TR - schedule.ready_s_TR
    caused_R = np.zeros(time.cluster.ranks)
    np.add.at(caused_R, schedule.ready_s_TR.argmax(axis=1), waits_TR.sum(axis=1))
    causing = [rank for rank in np.argsort(-caused_R, kind="stable").tolist() if caused_R[rank] > 0]
    chosen = dict.fromkeys((*causing[: most - 1], int(waits_TR.sum(axis=0).argmax()), *range(time.cluster.ranks)))
    return tuple(sorted(list(chosen)[:most]))


def timeline_rows(time: IterationTime, ranks: Sequence[int] | None = None) -> Rows:
    """`lane, rank, task, kind, start_ms, end_ms, taken_ms, is_critical`: a row for each task, and one for each wait.

    `ranks` are those of `timeline_ranks` unless given; lanes are a rank's streams.
    """
    rows: Rows = []
    for row in time.timeline_rows(timeline_ranks(time) if ranks is None else tuple(ranks)):
        shared = {"lane": f"rank {row['rank']}, {row['stream']}", "rank": row["rank"], "task": row["task"]}
        spans = [(row["ready_ms"], row["start_ms"], WAITING, False)] if row["waiting_ms"] > 0 else []
        spans.append((row["start_ms"], row["end_ms"], _KINDS[row["stream"]], row["is_critical"]))
        rows += [
            {
                **shared,
                "kind": kind,
                "start_ms": start_ms,
                "end_ms": end_ms,
                "taken_ms": end_ms - start_ms,
                "is_critical": is_critical,
            }
            for start_ms, end_ms, kind, is_critical in spans
        ]
    return rows


def timeline_chart(rows: Rows) -> alt.FacetChart:
    """Every rank's streams over the time of one iteration; who waits is grey, the critical path has a dark edge."""
    frame = pl.DataFrame([{**row, "stream": row["lane"].partition(", ")[2]} for row in rows])
    present = set(frame["kind"])
    kinds = [kind for kind in _COLOURS if kind in present]
    streams = [name for name in _STREAMS if name in set(frame["stream"])]
    colour = alt.Color(
        "kind:N",
        title=None,
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=[_COLOURS[kind] for kind in kinds]),
        legend=alt.Legend(orient="top", columns=3, columnPadding=36, labelLimit=300),
    )
    bars = (
        alt.Chart()
        .mark_bar(height=_LANE_HEIGHT - 5, strokeWidth=1.5)
        .encode(
            x=alt.X("start_ms:Q", title="time in the iteration (ms)"),
            x2="end_ms:Q",
            y=alt.Y("stream:N", title=None, sort=streams),
            color=colour,
            stroke=alt.condition("datum.is_critical", alt.value(_INK), alt.value(None)),
            tooltip=[
                alt.Tooltip("task:N"),
                alt.Tooltip("rank:Q"),
                alt.Tooltip("kind:N"),
                alt.Tooltip("start_ms:Q", format=".3f", title="from (ms)"),
                alt.Tooltip("end_ms:Q", format=".3f", title="to (ms)"),
                alt.Tooltip("taken_ms:Q", format=".3f", title="takes (ms)"),
                alt.Tooltip("is_critical:N", title="on the critical path"),
            ],
        )
        .properties(width=_WIDTH, height=_LANE_HEIGHT * len(streams))
    )
    facet = alt.Row("rank:O", title=None, header=alt.Header(labelExpr="'rank ' + datum.value", labelAngle=0))
    chart: alt.FacetChart = bars.facet(row=facet, data=frame, spacing=8)
    return themed(chart)


def scaling_rows(curves: Mapping[str, Sequence[ScalingPoint]]) -> Rows:
    """`curve, nodes, ranks, qps, efficiency, ideal_qps, exposed_comm_share`; ideal is perfect scaling."""
    return [
        {
            "curve": name,
            "nodes": point.nodes,
            "ranks": point.time.cluster.ranks,
            "qps": point.time.qps,
            "efficiency": point.efficiency,
            "ideal_qps": point.time.qps / point.efficiency,
            "exposed_comm_share": point.time.exposed_comm_share,
        }
        for name, points in curves.items()
        for point in points
    ]


def scaling_chart(rows: Rows) -> alt.LayerChart:
    """Throughput over nodes, both in logarithms; what perfect scaling would give is dashed, efficiencies are named."""
    curves = list(dict.fromkeys(row["curve"] for row in rows))
    counts = sorted({row["nodes"] for row in rows})
    base = alt.Chart(pl.DataFrame(rows)).encode(
        x=alt.X(
            "nodes:Q",
            title="nodes",
            scale=alt.Scale(type="log", base=2, padding=20),
            axis=alt.Axis(values=counts, format="d", grid=False),
        ),
        color=alt.Color(
            "curve:N", title=None, sort=curves, legend=alt.Legend(orient="top", columnPadding=28, labelLimit=260)
        ),
        tooltip=[
            alt.Tooltip("curve:N"),
            alt.Tooltip("nodes:Q"),
            alt.Tooltip("qps:Q", format=".3s", title="samples per second"),
            alt.Tooltip("efficiency:Q", format=".0%"),
            alt.Tooltip("exposed_comm_share:Q", format=".0%", title="exposed communication"),
        ],
    )
    y = alt.Y("qps:Q", title="samples per second", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s"))
    ideal = base.mark_line(strokeDash=[3, 3], strokeWidth=1).encode(y=alt.Y("ideal_qps:Q"))
    lines = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=50)).encode(y=y)
    last = base.transform_filter(f"datum.nodes == {counts[-1]}")
    names = last.mark_text(align="left", dx=9, fontSize=11).encode(y=y, text=alt.Text("efficiency:Q", format=".0%"))
    return themed(alt.LayerChart(layer=[ideal, lines, names]).properties(width=460, height=300))


def load_rows(plan: ShardingPlan, time: IterationTime | None = None) -> Rows:
    """`rank, cost_ms, lower_bound_ms` and bytes by tier of every rank; `waiting_ms` too where an iteration is given."""
    tiers = {f"{tier.name}_bytes": plan.rank_bytes(tier.name) for tier in plan.cluster.tiers}
    waits_R = None if time is None else (time.schedule.start_s_TR - time.schedule.ready_s_TR).sum(axis=0) * 1e3
    return [
        {
            "rank": rank,
            "cost_ms": plan.rank_ms[rank],
            "lower_bound_ms": plan.lower_bound_ms,
            **{name: int(held[rank]) for name, held in tiers.items()},
            **({} if waits_R is None else {"waiting_ms": float(waits_R[rank])}),
        }
        for rank in range(plan.cluster.ranks)
    ]


def load_chart(rows: Rows) -> alt.LayerChart:
    """What every rank's shards cost, as bars, with the bound that no plan's slowest rank is below as a line."""
    frame = pl.DataFrame(rows)
    tooltip = [alt.Tooltip(f"{name}:Q", format=".4s") for name in frame.columns]
    bars = (
        alt.Chart(frame)
        .mark_bar(color=PALETTE[0])
        .encode(
            x=alt.X("rank:O", title="rank", axis=alt.Axis(labelOverlap=True, labelAngle=0)),
            y=alt.Y("cost_ms:Q", title="cost of the rank's shards (ms)"),
            tooltip=tooltip,
        )
    )
    bound = alt.Chart(frame.head(1)).encode(y="lower_bound_ms:Q")
    line = bound.mark_rule(color=PALETTE[4], strokeDash=[5, 3], strokeWidth=1.5)
    named = bound.mark_text(align="right", baseline="bottom", color=PALETTE[4], text="line: no plan is below")
    name = named.encode(x=alt.value("width"), y=alt.value(-5))
    return themed(alt.LayerChart(layer=[bars, line, name]).properties(width=_WIDTH, height=220))


def sensitivity_chart(rows: Rows) -> alt.LayerChart:
    """Bars from the iteration with each constant divided to that with it multiplied; rows as `Sensitivity` has fields.

    Rows need `constant, factor, divided_ms, multiplied_ms, base_ms`.
    """
    factor, base_ms = rows[0]["factor"], rows[0]["base_ms"]
    order = [row["constant"] for row in rows]
    long = [
        {"constant": row["constant"], "change": f"{sign} {factor:g}", "ms": row[key], "base_ms": base_ms}
        for row in rows
        for sign, key in (("divided by", "divided_ms"), ("times", "multiplied_ms"))
    ]
    base = alt.Chart(pl.DataFrame(long))
    bars = base.mark_bar(height={"band": 0.7}).encode(
        x=alt.X("ms:Q", title="iteration (ms)", scale=alt.Scale(zero=False)),
        x2="base_ms:Q",
        y=alt.Y("constant:N", sort=order, title=None, axis=alt.Axis(labelLimit=260)),
        color=alt.Color("change:N", title=None, legend=alt.Legend(orient="top", columnPadding=28)),
        tooltip=[alt.Tooltip("constant:N"), alt.Tooltip("change:N"), alt.Tooltip("ms:Q", format=".3f")],
    )
    line = base.mark_rule(color=_GREY).encode(x="base_ms:Q")
    return themed(alt.LayerChart(layer=[bars, line]).properties(width=460, height=max(60, 18 * len(order))))
