"""Charts of a replay: what each path came to, measured beside simulated, and how the machine drifted."""

from typing import TYPE_CHECKING

from serving_sim.charts_axes import line_channels

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["drift_chart", "paths_chart"]

_STEP = 26
_MOST_BINS, _QUERIES_PER_BIN = 40, 20


def paths_chart(frame: "pl.DataFrame", title: str) -> "alt.Chart":
    """p50, p95 and p99 of each path that served queries, measured and simulated, on a log scale."""
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    long = frame.drop_nulls("p50_ms").unpivot(
        on=["p50_ms", "p95_ms", "p99_ms"], index=["path", "side", "share"], variable_name="figure", value_name="ms"
    )
    labelled = long.with_columns(label=pl.col("path") + ", " + pl.col("figure").str.strip_suffix("_ms"))
    labels = labelled.sort("path", "figure")["label"].unique(maintain_order=True).to_list()
    chart: alt.Chart = (
        alt.Chart(labelled)
        .mark_point(size=60, strokeWidth=2)
        .encode(
            x=alt.X("ms:Q", scale=alt.Scale(type="log", nice=False, padding=12), title="latency (ms)"),
            y=alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(grid=True, labelLimit=260)),
            color=alt.Color("side:N", title="latencies"),
            shape=alt.Shape("side:N", title="latencies"),
            tooltip=["label:N", "side:N", alt.Tooltip("ms:Q", format=".3g"), alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(title=title, height=_STEP * max(2, len(labels)))
    )
    return themed(chart)


def drift_chart(queries: "pl.DataFrame", title: str) -> "alt.Chart":
    """Median and 95th percentile of the latency measured, in at most 40 parts of the run of some 20 queries."""
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    served = queries.drop_nulls("latency_ms")
    bins = max(1, min(_MOST_BINS, len(served) // _QUERIES_PER_BIN))
    width_ms = max(float(served["arrival_ms"].max() or 0.0), 1.0) / bins  # type: ignore[arg-type]  # a column of numbers
    place = (pl.col("arrival_ms") / width_ms).floor().clip(0, bins - 1)
    figures = [pl.col("latency_ms").quantile(share).alias(name) for name, share in (("p95", 0.95), ("p50", 0.5))]
    long = (
        served.group_by(time_s=(place + 0.5) * width_ms / 1e3)
        .agg(*figures)
        .unpivot(index="time_s", variable_name="figure", value_name="ms")
        .sort("figure", "time_s", descending=[True, False])
    )
    chart: alt.Chart = (
        alt.Chart(long)
        .mark_line(point=True)
        .encode(
            x=alt.X("time_s:Q", title="time (s)"),
            y=alt.Y("ms:Q", title="latency (ms)"),
            **line_channels(long, "figure", "measured"),
            tooltip=["figure:N", alt.Tooltip("time_s:Q", format=".3g"), alt.Tooltip("ms:Q", format=".3g")],
        )
        .properties(title=title)
    )
    return themed(chart)
