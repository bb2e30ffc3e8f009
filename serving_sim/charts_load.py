"""Policies over load, on the same queries: how many are late, how many are served in time, and what no policy beats.

One sweep gives the frame; violations, goodput and the frontier of correct predictions are read off it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from serving_sim.charts_axes import line_channels, percent_axis, short_axis
from serving_sim.engine import SimulationOptions, simulate
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike
from serving_sim.sizes import mean_load_size

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = [
    "BOUND",
    "bound_of",
    "capacity_accuracy_chart",
    "capacity_accuracy_frame",
    "goodput_chart",
    "load_over_qps",
]

BOUND = "fluid bound"
_COLUMNS = (
    "policy", "qps", "violation_share", "goodput_qps", "correct_in_sla_per_s", "right_share", "accuracy", "verdict",
)  # fmt: skip


def load_over_qps(plan: Plan, policies: Sequence[PolicyLike], qps_values: Sequence[float]) -> "pl.DataFrame":
    """A row per policy and rate, and one of the fluid bound per rate.

    `policy, qps, violation_share, goodput_qps` (queries in the SLA per second), `correct_in_sla_per_s`, `right_share`
    (the share of the predictions asked for that these are), `accuracy, verdict`. The bound knows of correct predictions
    alone.
    """
    import polars as pl

    samples = mean_load_size(plan.workload)
    rows: list[tuple[str, float, float | None, float | None, float, float, float | None, str | None]] = []
    for qps in map(float, qps_values):
        # The bound is one of the queries, whatever the policy.
        results = [
            simulate(plan, policy=policy, qps=qps, options=SimulationOptions(exact_queries=0, fluid_bound=place == 0))
            for place, policy in enumerate(policies)
        ]
        offered = _offered_samples(results, samples)
        for one in results:
            correct = one.correct_predictions_in_sla_per_s
            right_share = correct * one.duration_s / offered
            rows.append(
                (
                    one.policy,
                    qps,
                    one.sla_violation_share,
                    one.goodput_qps,
                    correct,
                    right_share,
                    one.accuracy,
                    one.verdict,
                )
            )
        if bound := bound_of(results):
            shortest_s = min(one.duration_s for one in results)
            rows.append((BOUND, qps, None, None, bound, bound * shortest_s / offered, None, None))
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row", infer_schema_length=None)


def _offered_samples(results: Sequence[SimulationResult], mean_samples: float) -> float:
    """Samples of the counted queries, which are the same for all: as a run tells that refused none, else on average."""
    for one in results:
        if not one.refused and one.accuracy > 0:
            return one.correct_predictions_per_s * one.duration_s / one.accuracy
    return results[0].counted * mean_samples


def bound_of(results: Sequence[SimulationResult]) -> float | None:
    """The fluid bound per second that runs of the same queries have, over the shortest of them.

    None where no run knows its share of the bound, or all that do served nothing in time.
    """
    totals = [
        one.correct_predictions_in_sla_per_s * one.duration_s / one.fluid_bound_share
        for one in results
        if one.fluid_bound_share
    ]
    shortest_s = min(one.duration_s for one in results)
    return totals[0] / shortest_s if totals and shortest_s else None


def goodput_chart(frame: "pl.DataFrame") -> "alt.LayerChart":
    """Queries served in the SLA over the rate offered; the thin line is all of them."""
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    served = frame.filter(pl.col("goodput_qps").is_not_null())
    ends = served["qps"].min(), served["qps"].max()
    lines = (
        alt.Chart(served)
        .mark_line(point=True)
        .encode(
            x=alt.X("qps:Q", title="offered queries per second", axis=short_axis()),
            y=alt.Y("goodput_qps:Q", title="queries in the SLA per second", axis=short_axis()),
            **line_channels(served, "policy"),
            tooltip=["policy:N", "qps:Q", alt.Tooltip("goodput_qps:Q", format=",.0f"), "verdict:N"],
        )
    )
    every = alt.Chart(pl.DataFrame({"qps": ends, "goodput_qps": ends})).mark_line(strokeDash=[4, 4], color="#888")
    chart: alt.LayerChart = every.encode(x="qps:Q", y="goodput_qps:Q") + lines
    return themed(chart.properties(title="Goodput over load"))


def capacity_accuracy_frame(capacities: Sequence[dict[str, object]], load: "pl.DataFrame") -> "pl.DataFrame":
    """Each policy's capacity and accuracy there, and the bound's share of right predictions over the rate.

    `capacities` are the policies of a `CapacityResult`'s object. `series, qps, ci_low, ci_high, right_share`; of the
    bound, `qps` is a rate of the sweep and the interval is empty.
    """
    import polars as pl

    points = [
        {
            "series": str(one["policy"]),
            "qps": one["max_qps"],
            "ci_low": one["ci_low"],
            "ci_high": one["ci_high"],
            "right_share": one["accuracy"],
        }
        for one in capacities
        if one["max_qps"]
    ]
    bounds = [
        {"series": BOUND, "qps": qps, "ci_low": None, "ci_high": None, "right_share": share}
        for qps, share in load.filter(pl.col("policy") == BOUND).select("qps", "right_share").rows()
    ]
    columns = {"series": pl.String, "qps": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64}
    return pl.DataFrame([*points, *bounds], schema={**columns, "right_share": pl.Float64})


def capacity_accuracy_chart(frame: "pl.DataFrame") -> "alt.LayerChart":
    """Accuracy at the highest rate that holds the SLA, a point with its interval per policy, below the bound's line.

    To the right is more load, up is more accuracy; what lies below and to the left of another point is beaten.
    """
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    across = alt.X("qps:Q", title="queries per second", axis=short_axis())
    up = alt.Y("right_share:Q", title="right predictions", axis=percent_axis(), scale=alt.Scale(zero=False))
    bound = (
        alt.Chart(frame.filter(pl.col("series") == BOUND))
        .mark_line(strokeDash=[4, 4], color="#888")
        .encode(x=across, y=up)
    )
    base = alt.Chart(frame.filter(pl.col("series") != BOUND)).encode(x=across, y=up)
    interval = base.mark_rule(strokeWidth=2, color="#888").encode(x=alt.X("ci_low:Q"), x2="ci_high:Q")
    points = base.mark_point(filled=True, size=90).encode(
        color=alt.Color("series:N", title="policy"),
        tooltip=["series:N", alt.Tooltip("qps:Q", format=",.0f"), alt.Tooltip("right_share:Q", format=".2%")],
    )
    chart: alt.LayerChart = bound + interval + points
    return themed(chart.properties(title="Capacity and accuracy"))
