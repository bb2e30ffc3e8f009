"""The difference of two profiles: a bar per module, to the right where it is more and to the left where it is less."""

import altair as alt
import polars as pl

from profiles.analyses.diff import MetricDiff
from profiles.charts.theme import themed

__all__ = ["difference_chart", "difference_frame"]

MORE, LESS, NOISE = "more", "less", "within the noise"
_COLOURS = {MORE: "#D55E00", LESS: "#0072B2", NOISE: "#B4BEC6"}
_SCHEMA = {
    "module": pl.String,
    "class_name": pl.String,
    "before": pl.Float64,
    "after": pl.Float64,
    "change": pl.Float64,
    "kind": pl.String,
}
_BAR_HEIGHT = 24


def difference_frame(metric: MetricDiff, most: int = 20) -> pl.DataFrame:
    """The `most` greatest differences, then all others as one line, and what is within the noise as another."""
    named = metric.named
    lines = [
        _line(_label(one.part.path, one.part.phase), one.class_name, one.part.before, one.part.after)
        for one in named[:most]
    ]
    rest = named[most:]
    if rest:
        before, after = sum(one.part.before for one in rest), sum(one.part.after for one in rest)
        lines.append(_line(f"{len(rest)} more modules", "", before, after))
    noisy = [one for one in metric.differences if one.is_noise]
    if noisy:
        before, after = sum(one.part.before for one in noisy), sum(one.part.after for one in noisy)
        lines.append({**_line(f"{len(noisy)} within the noise", "", before, after), "kind": NOISE})
    return pl.DataFrame(lines, schema=_SCHEMA, orient="row")


def difference_chart(metric: MetricDiff, *, most: int = 20, width: int = 900) -> alt.Chart:
    """Bars of `difference_frame`, the greatest difference on top."""
    frame = difference_frame(metric, most)
    modules = list(dict.fromkeys(frame["module"]))
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("change:Q", title=f"difference: {metric.title}", axis=alt.Axis(format="+~s")),
            y=alt.Y("module:N", sort=modules, title=None, axis=alt.Axis(labelLimit=300)),
            color=alt.Color(
                "kind:N", title=None, scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
            ),
            tooltip=[
                alt.Tooltip("module:N"),
                alt.Tooltip("class_name:N", title="class"),
                alt.Tooltip("before:Q", format=".4~s"),
                alt.Tooltip("after:Q", format=".4~s"),
                alt.Tooltip("change:Q", format="+.4~s", title="difference"),
            ],
        )
        .properties(width=width, height=_BAR_HEIGHT * max(len(modules), 1))
    )
    return themed(chart)


def _line(module: str, class_name: str, before: float, after: float) -> dict[str, object]:
    kind = MORE if after > before else LESS
    return {
        "module": module, "class_name": class_name, "before": before, "after": after, "change": after - before,
        "kind": kind,
    }  # fmt: skip


def _label(path: str, phase: str) -> str:
    return (path or "the model itself") + ("" if phase == "forward" else f" [{phase}]")
