"""Charts of the page on ZionEX, as SVG."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

__all__ = ["charts"]

# Wider at the sides, as browsers draw text wider than the renderer reckons.
_PADDING = {"left": 32, "right": 28, "top": 8, "bottom": 8}


def charts(report: Mapping[str, Any]) -> dict[str, str]:
    """By name: the timeline of model A, scaling curves, and the constants that matter."""
    from planner.distributed.charts import scaling_chart, sensitivity_chart, timeline_chart

    drawn = {
        "zionex_timeline": timeline_chart(report["timeline"]),
        "zionex_scaling": scaling_chart(report["scaling"]),
        "zionex_constants": sensitivity_chart(report["constants"][:10]),
        "zionex_cache": _cache(report["cache"]),
    }
    return {name: _svg(chart) for name, chart in drawn.items()}


def _svg(chart: Any) -> str:
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(chart.properties(padding=_PADDING).to_json())
    return svg


def _cache(rows: list[dict[str, float]]) -> "alt.LayerChart":
    import altair as alt
    import polars as pl

    from profiles.charts.theme import themed

    names = {
        "replayed": "LRU replay of the log",
        "predicted": "predicted from reuse times",
        "forecast": "predicted from the first half",
        "independent": "independent draws by Zipf's law",
    }
    long = [{"entries": row["entries"], "rate": row[key], "what": name} for row in rows for key, name in names.items()]
    order = list(names.values())
    base = alt.Chart(pl.DataFrame(long)).encode(
        x=alt.X("entries:Q", title="rows in the cache", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s")),
        y=alt.Y("rate:Q", title="hit rate", axis=alt.Axis(format="%")),
        color=alt.Color(
            "what:N",
            title=None,
            sort=order,
            legend=alt.Legend(orient="top", columns=2, columnPadding=36, labelLimit=260),
        ),
        strokeDash=alt.StrokeDash("what:N", sort=order, legend=None),
    )
    layers = [base.mark_line(), base.mark_point(filled=True, size=30)]
    return themed(alt.LayerChart(layer=layers).properties(width=460, height=260))
