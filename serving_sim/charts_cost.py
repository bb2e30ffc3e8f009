"""What each policy costs in money and energy: a frame and its charts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from serving_sim.metrics import SimulationResult

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["COST_FIGURES", "cost_chart", "cost_frame"]

COST_FIGURES = {
    "cost_per_million_correct": "cost per million right in the SLA",
    "energy_j_per_query": "energy per query (J, modelled)",
}
_STEP = 30


def cost_frame(results: Mapping[str, SimulationResult]) -> "pl.DataFrame":
    """A row per policy: `policy, cost_per_million_correct, energy_j_per_query, correct_per_j`; null where unknown.

    Costs are of all the plan's devices at their hourly price, energy is modelled from their idle and busy power.
    """
    import polars as pl

    rows = [
        {
            "policy": label,
            "cost_per_million_correct": one.cost_per_million_correct,
            "energy_j_per_query": one.energy_j_per_query,
            "correct_per_j": _correct_per_j(one),
        }
        for label, one in results.items()
    ]
    kinds = dict.fromkeys((*COST_FIGURES, "correct_per_j"), pl.Float64)
    return pl.DataFrame(rows, schema={"policy": pl.String, **kinds})


def cost_chart(frame: "pl.DataFrame", figure: str) -> "alt.LayerChart | None":
    """Bars of one of `COST_FIGURES` per policy; None where no policy's is known."""
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    known = frame.filter(pl.col(figure).is_not_null())
    if known.is_empty():
        return None
    title = COST_FIGURES[figure]
    base = alt.Chart(known).encode(
        y=alt.Y("policy:N", title=None, sort=None, axis=alt.Axis(labelLimit=220)),
        x=alt.X(f"{figure}:Q", title=title, axis=alt.Axis(tickCount=4)),
    )
    tooltip = ["policy:N", alt.Tooltip(f"{figure}:Q", format=",.3g"), alt.Tooltip("correct_per_j:Q", format=",.3g")]
    bars = base.mark_bar().encode(tooltip=tooltip)
    figures = base.mark_text(align="left", dx=4).encode(text=alt.Text(f"{figure}:Q", format=",.3g"))
    chart: alt.LayerChart = bars + figures
    return themed(chart.properties(title=title[0].upper() + title[1:], height=_STEP * len(known)))


def _correct_per_j(result: SimulationResult) -> float | None:
    """Correct predictions in the SLA over the energy of the queries that came."""
    if not result.energy_j_per_query:
        return None
    per_query = result.correct_predictions_in_sla_per_s * result.duration_s / result.counted
    return per_query / result.energy_j_per_query
