"""What a policy makes of a load, beside what no policy can beat: a frame and its chart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from serving_sim.charts_axes import line_channels, short_axis
from serving_sim.charts_load import BOUND, load_over_qps
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["BOUND", "frontier_chart", "frontier_frame", "frontier_over_qps"]


def frontier_over_qps(plan: Plan, policies: Sequence[PolicyLike], qps_values: Sequence[float]) -> "pl.DataFrame":
    """Correct predictions in the SLA of each policy at each rate, over the same queries, and the fluid bound beside
    them: `series, qps, correct_in_sla_per_s, bound_share`.
    """
    return frontier_frame(load_over_qps(plan, policies, qps_values))


def frontier_frame(load: "pl.DataFrame") -> "pl.DataFrame":
    """The same from a sweep that `load_over_qps` gave."""
    import polars as pl

    bounds = load.filter(pl.col("policy") == BOUND).select("qps", bound="correct_in_sla_per_s")
    joined = load.join(bounds, on="qps", how="left", maintain_order="left")
    return joined.select(
        "qps", "correct_in_sla_per_s", series="policy", bound_share=pl.col("correct_in_sla_per_s") / pl.col("bound")
    ).select("series", "qps", "correct_in_sla_per_s", "bound_share")


def frontier_chart(frame: "pl.DataFrame", title: str = "Correct predictions in the SLA over load") -> "alt.LayerChart":
    """Correct predictions in the SLA over the offered rate, a line for each policy, grey and dashed for the bound."""
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    across = alt.X("qps:Q", title="offered queries per second", axis=short_axis())
    up = alt.Y("correct_in_sla_per_s:Q", title="correct predictions in the SLA per second", axis=short_axis())
    bound = alt.Chart(frame.filter(pl.col("series") == BOUND)).mark_line(strokeDash=[4, 4], color="#888")
    policies = frame.filter(pl.col("series") != BOUND)
    lines = (
        alt.Chart(policies)
        .mark_line(point=True)
        .encode(
            x=across,
            y=up,
            **line_channels(policies, "series"),
            tooltip=["series:N", "qps:Q", alt.Tooltip("correct_in_sla_per_s:Q", format=",.0f")],
        )
    )
    chart: alt.LayerChart = bound.encode(x=across, y=up) + lines
    return themed(chart.properties(title=title))
