"""What a policy makes of a load, beside what no policy can beat: a frame and its chart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from serving_sim.engine import SimulationOptions, simulate
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["BOUND", "frontier_chart", "frontier_over_qps"]

BOUND = "fluid bound"


def frontier_over_qps(plan: Plan, policies: Sequence[PolicyLike], qps_values: Sequence[float]) -> "pl.DataFrame":
    """Correct predictions in the SLA of each policy at each rate, over the same queries, and the fluid bound beside
    them: `series, qps, correct_in_sla_per_s, bound_share`.
    """
    import polars as pl

    options = SimulationOptions(exact_queries=0)
    rows: list[tuple[str, float, float, float | None]] = []
    for qps in qps_values:
        results = [simulate(plan, policy=policy, qps=qps, options=options) for policy in policies]
        for result in results:
            correct = result.correct_predictions_in_sla_per_s
            rows.append((result.policy, float(qps), correct, result.fluid_bound_share))
        best = max(results, key=lambda result: result.fluid_bound_share or 0.0)
        if best.fluid_bound_share:
            bound = best.correct_predictions_in_sla_per_s / best.fluid_bound_share
            rows.append((BOUND, float(qps), bound, 1.0))
    columns = ("series", "qps", "correct_in_sla_per_s", "bound_share")
    return pl.DataFrame(rows, schema=columns, orient="row")


def frontier_chart(frame: "pl.DataFrame", title: str = "Correct predictions in the SLA over load") -> "alt.LayerChart":
    """Correct predictions in the SLA over the offered rate, a line for each series, that of the bound dashed."""
    import altair as alt

    from profiles.charts.theme import themed

    base = alt.Chart(frame).encode(
        x=alt.X("qps:Q", title="offered queries per second"),
        y=alt.Y("correct_in_sla_per_s:Q", title="correct predictions in the SLA per second", axis=_short()),
        color=alt.Color("series:N", title=None),
        strokeDash=alt.condition(alt.datum.series == BOUND, alt.value([4, 4]), alt.value([1, 0])),
        tooltip=["series:N", "qps:Q", alt.Tooltip("correct_in_sla_per_s:Q", format=",.0f")],
    )
    chart: alt.LayerChart = base.mark_line() + base.mark_point(filled=True)
    return themed(chart.properties(title=title))


def _short() -> "alt.Axis":
    import altair as alt

    return alt.Axis(format="~s")
