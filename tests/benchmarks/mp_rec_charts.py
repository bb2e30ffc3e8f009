"""Charts of MP-Rec's comparisons, as SVG."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

__all__ = ["charts"]

_WIDTH, _HEIGHT = 520, 240
_LABEL = 240
# Wider on the right, as browsers draw text wider than the renderer reckons.
_PADDING = {"left": 8, "right": 24, "top": 8, "bottom": 8}


def charts(report: Mapping[str, Any]) -> dict[str, str]:
    """By name: correct predictions and late queries over the SLA, gains by query size, ablation, paths by size."""
    drawn = {
        "mp_rec_sla": _over_sla(report, "in_sla_per_s", "correct predictions in the SLA /s", "~s"),
        "mp_rec_late": _over_sla(report, "late", "late queries", "%"),
        "mp_rec_sizes": _sizes(report),
        "mp_rec_ablation": _ablation(report),
        "mp_rec_paths": _paths(report),
    }
    return {name: _svg(chart) for name, chart in drawn.items()}


def _svg(chart: Any) -> str:
    import vl_convert

    from profiles.charts.theme import themed

    svg: str = vl_convert.vegalite_to_svg(themed(chart.properties(padding=_PADDING)).to_json())
    return svg


def _over_sla(report: Mapping[str, Any], figure: str, title: str, form: str) -> "alt.LayerChart":
    import altair as alt
    import polars as pl

    order = list(dict.fromkeys(row["policy"] for row in report["sweep"]))
    base = alt.Chart(pl.DataFrame(report["sweep"])).encode(
        x=alt.X(
            "sla_ms:Q",
            title="SLA (ms)",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=[1, 2, 5, 10, 20, 50, 100, 200]),
        ),
        y=alt.Y(f"{figure}:Q", title=title, axis=alt.Axis(format=form)),
        color=alt.Color("policy:N", title=None, sort=order, legend=alt.Legend(labelLimit=_LABEL)),
        strokeDash=alt.StrokeDash("policy:N", sort=order, legend=None),
    )
    chart: alt.LayerChart = base.mark_line() + base.mark_point(filled=True)
    text = f"Kaggle, HW-1, {report['late_qps']:,.0f} queries per second"
    return chart.properties(title=text, width=_WIDTH, height=_HEIGHT)


def _sizes(report: Mapping[str, Any]) -> "alt.LayerChart":
    import altair as alt
    import polars as pl

    labels = [name for name in report["sizes"][0] if name != "mean_size"]
    rows = [
        {"mean_size": row["mean_size"], "policy": label, "ratio": row[label]}
        for row in report["sizes"]
        for label in labels
    ]
    base = alt.Chart(pl.DataFrame(rows)).encode(
        x=alt.X(
            "mean_size:Q",
            title="mean query size (samples)",
            scale=alt.Scale(type="log", base=2),
            axis=alt.Axis(values=[row["mean_size"] for row in report["sizes"]]),
        ),
        y=alt.Y("ratio:Q", title="throughput over tables on the CPU", scale=alt.Scale(zero=True)),
        color=alt.Color("policy:N", title=None, sort=labels, legend=alt.Legend(labelLimit=_LABEL)),
        strokeDash=alt.StrokeDash("policy:N", sort=labels, legend=None),
    )
    chart: alt.LayerChart = base.mark_line() + base.mark_point(filled=True)
    return chart.properties(title="Kaggle, HW-1, queries always waiting", width=_WIDTH, height=_HEIGHT)


def _ablation(report: Mapping[str, Any]) -> "alt.HConcatChart":
    import altair as alt
    import polars as pl

    rows = [{"data": data.capitalize(), **row} for data, found in report["ablation"].items() for row in found]
    frame = pl.DataFrame(rows).with_columns(
        lift=100 * (pl.col("paper_accuracy") - pl.col("paper_accuracy").min().over("data"))
    )
    order = list(dict.fromkeys(row["step"] for row in rows))

    def bars(figure: str, title: str) -> alt.Chart:
        chart: alt.Chart = (
            alt.Chart(frame)
            .mark_bar()
            .encode(
                y=alt.Y("step:N", sort=order, title=None, axis=alt.Axis(labelLimit=_LABEL, minExtent=110)),
                x=alt.X(f"{figure}:Q", title=title),
                yOffset=alt.YOffset("data:N"),
                color=alt.Color("data:N", title=None),
            )
            .properties(width=300, height=200)
        )
        return chart

    chart: alt.HConcatChart = alt.hconcat(
        bars("over_base", "throughput over tables on the CPU"), bars("lift", "points of accuracy at 1,000 queries/s")
    )
    return chart


def _paths(report: Mapping[str, Any]) -> "alt.FacetChart":
    import altair as alt
    import polars as pl

    frame = pl.DataFrame(report["shares"])
    order = [str(2**i) for i in range(13)]
    chart: alt.FacetChart = (
        alt.Chart(frame.with_columns(size=pl.col("size_from").cast(pl.String)))
        .mark_bar()
        .encode(
            x=alt.X("size:N", sort=order, title="query size (samples, from)"),
            y=alt.Y(
                "share:Q",
                stack="zero",
                title="share of queries",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=alt.Color("path:N", title="path"),
        )
        .properties(width=240, height=160)
        .facet(row=alt.Row("data:N", title=None), column=alt.Column("policy:N", title=None))
    )
    return chart
