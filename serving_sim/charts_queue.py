"""The queue of each device over a run: a frame and its chart."""

from typing import TYPE_CHECKING

from serving_sim.charts_axes import sla_rules
from serving_sim.metrics import SimulationResult

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["queue_chart", "queue_frame"]


def queue_frame(result: SimulationResult) -> "pl.DataFrame":
    """A row per device and bin of time: `device, start_s, end_s, mean_backlog_ms, max_backlog_ms, mean_waiting`."""
    import polars as pl

    queue = result.queue
    rows = [
        {
            "device": device,
            "start_s": place * queue.bin_s,
            "end_s": (place + 1) * queue.bin_s,
            "mean_backlog_ms": mean_ms,
            "max_backlog_ms": most_ms,
            "mean_waiting": waiting,
        }
        for device in queue.mean_backlog_ms
        for place, (mean_ms, most_ms, waiting) in enumerate(
            zip(queue.mean_backlog_ms[device], queue.max_backlog_ms[device], queue.mean_waiting[device], strict=True)
        )
    ]
    return pl.DataFrame(rows)


def queue_chart(frame: "pl.DataFrame", *slas_ms: float) -> "alt.LayerChart":
    """How long arrivals had to wait, per device: the mean as a line, the longest as the area's edge, rules at SLAs."""
    import altair as alt

    from profiles.charts.theme import themed

    base = alt.Chart(frame).encode(
        x=alt.X("start_s:Q", title="time (s)"),
        # The legend would be as faint as the areas.
        color=alt.Color("device:N", title="device", legend=alt.Legend(symbolOpacity=1)),
        tooltip=[
            "device:N",
            alt.Tooltip("start_s:Q", format=",.3g"),
            alt.Tooltip("mean_backlog_ms:Q", format=".3g"),
            alt.Tooltip("max_backlog_ms:Q", format=".3g"),
            alt.Tooltip("mean_waiting:Q", format=".3g"),
        ],
    )
    longest = base.mark_area(opacity=0.2, interpolate="step-after").encode(
        y=alt.Y("max_backlog_ms:Q", title="wait (ms): mean, and the longest", stack=None)
    )
    mean = base.mark_line(interpolate="step-after", strokeWidth=1.5).encode(y="mean_backlog_ms:Q")
    longest_ms = float(frame["max_backlog_ms"].max() or 0.0)  # type: ignore[arg-type]  # a column of numbers
    # Where no queue comes near an SLA, its line would press all of them flat.
    near_ms = [sla_ms for sla_ms in slas_ms if longest_ms > sla_ms / (20 if sla_ms == min(slas_ms) else 1)]
    chart: alt.LayerChart = longest + mean + sla_rules(near_ms, "y") if near_ms else longest + mean
    return themed(chart.properties(title="Queues over time"))
