"""Heat maps of what-ifs: two axes across and down, the others in dropdowns, a panel per figure."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiles.errors import InputError

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["save_whatif_page", "whatif_chart"]

_PANELS = (
    ("p99_over_sla", "p99 over the SLA", ".2f"),
    ("sla_violation_share", "queries above the SLA", ".1%"),
    ("correct_predictions_in_sla_per_s", "correct predictions in the SLA, per second", ",.0f"),
    ("cost_per_million_correct", "cost per million of these", ",.3g"),
)
# Ends of 95 % intervals, where they were asked for.
_ENDS = tuple(
    (f"{column}_{kind}_{end}", f"{title}, 95 % by {by}, {end}", form)
    for column, title, form in (("p99_ms", "p99 (ms)", ".3g"), ("sla_violation_share", "above the SLA", ".2%"))
    for kind, by in (("ci", "queries"), ("table", "tables"))
    for end in ("low", "high")
)
_VERDICTS = {"stable": "#009E73", "near-saturation": "#E69F00", "overloaded": "#D55E00"}
_WIDTH, _STEP = 420, 26
_AS_IT_IS = "as it is"


def whatif_chart(frame: "pl.DataFrame", keys: Sequence[str]) -> "alt.VConcatChart":
    """The verdict and a heat map per figure; across the first key (`qps` where it varies), down the second.

    Further keys have a dropdown each. A figure that no combination has, such as a cost without prices, has no panel.

    Raises:
        InputError: no key.
    """
    import altair as alt

    from profiles.charts.theme import themed

    if not keys:
        raise InputError("keys: must not be empty")
    across, *others = sorted(keys, key=lambda key: (key != "qps", key != "sla_ms"))
    down, hidden = (others[0], others[1:]) if others else (None, [])
    names = {key: f"axis_{place}" for place, key in enumerate(keys)}
    shown = frame.rename(names)
    chosen = [_dropdown(shown, names[key], key) for key in hidden]
    panels = [_verdict_panel(shown, names, across, down)]
    panels += [
        _figure_panel(shown, names, across, down, column, title, form)
        for column, title, form in _PANELS
        if shown[column].null_count() < len(shown)
    ]
    for parameter in chosen:
        panels = [
            panel.transform_filter(f"datum.{parameter.name.removeprefix('chosen_')} == {parameter.name}")
            for panel in panels
        ]
    rows = [
        alt.hconcat(*panels[start : start + 2]).resolve_scale(color="independent") for start in range(0, len(panels), 2)
    ]
    chart: alt.VConcatChart = alt.vconcat(*rows).resolve_scale(color="independent")
    return themed(chart.add_params(*chosen).properties(title="What if"))


def save_whatif_page(frame: "pl.DataFrame", keys: Sequence[str], file: Path) -> None:
    """The chart as an HTML page that opens offline."""
    from profiles.charts.page import save_chart_page

    save_chart_page(whatif_chart(frame, keys), "What if", file)


def _dropdown(frame: "pl.DataFrame", name: str, key: str) -> Any:
    import altair as alt

    values = frame[name].unique(maintain_order=True).to_list()
    labels = [_label(value) for value in values]
    bound = alt.binding_select(options=values, labels=labels, name=f"{key}: ")
    return alt.param(name=f"chosen_{name}", bind=bound, value=values[0])


def _base(frame: "pl.DataFrame", names: dict[str, str], across: str, down: str | None, title: str) -> Any:
    import altair as alt

    rows = 1 if down is None else frame[names[down]].n_unique()
    chart: Any = alt.Chart(frame, title=title).encode(
        x=alt.X(f"{names[across]}:O", title=across, sort=None, axis=_axis())
    )
    if down is not None:
        chart = chart.encode(y=alt.Y(f"{names[down]}:O", title=down, sort=None, axis=_axis()))
    return chart.properties(width=_WIDTH, height=_STEP * rows)


def _tooltips(names: dict[str, str], columns: Collection[str]) -> list[Any]:
    import altair as alt

    keys = [alt.Tooltip(f"{name}:N", title=key) for key, name in names.items()]
    figures = [alt.Tooltip(f"{column}:Q", title=title, format=form) for column, title, form in _PANELS]
    bars = [alt.Tooltip(f"{column}:Q", title=title, format=form) for column, title, form in _ENDS if column in columns]
    p99 = alt.Tooltip("p99_ms:Q", title="p99 (ms)", format=".3g")
    return [*keys, "verdict:N", "holds_sla:N", p99, *figures, *bars]


def _verdict_panel(frame: "pl.DataFrame", names: dict[str, str], across: str, down: str | None) -> Any:
    import altair as alt

    base = _base(frame, names, across, down, "verdict; x: the SLA is missed, ?: too few queries to tell")
    colour = alt.Color("verdict:N", title=None, scale=alt.Scale(domain=list(_VERDICTS), range=list(_VERDICTS.values())))
    cells = base.mark_rect(stroke="white").encode(color=colour, tooltip=_tooltips(names, frame.columns))
    signs = base.transform_calculate(sign="datum.holds_sla === null ? '?' : datum.holds_sla ? '' : 'x'")
    return cells + signs.mark_text(fontSize=12).encode(text="sign:N")


def _figure_panel(
    frame: "pl.DataFrame", names: dict[str, str], across: str, down: str | None, column: str, title: str, form: str
) -> Any:
    import altair as alt

    base = _base(frame, names, across, down, title)
    # Above twice the SLA, how much more does not matter.
    scale = alt.Scale(domain=[0, 2], clamp=True, range="ramp") if column == "p99_over_sla" else alt.Scale(range="ramp")
    colour = alt.Color(f"{column}:Q", title=None, scale=scale, legend=alt.Legend(format=form))
    cells = base.mark_rect(stroke="white").encode(color=colour, tooltip=_tooltips(names, frame.columns))
    return cells + base.mark_text(fontSize=9).encode(text=alt.Text(f"{column}:Q", format=form))


def _axis() -> "alt.Axis":
    """The values as the dropdowns name them, level where there is room."""
    import altair as alt

    return alt.Axis(labelExpr=f"datum.label === '' ? '{_AS_IT_IS}' : datum.label", labelAngle=0, labelOverlap=True)


def _label(value: object) -> str:
    return _AS_IT_IS if value == "" else str(value)
