"""The report's own charts: thin Altair renderers over rows; every one fills its column and carries no theme."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from planner.report.blocks import Rows
from planner.report.frames import frame_of
from planner.report.kind_colours import kind_colour
from planner.report.provenance import GRADES
from planner.report.restyle import DASHES, FILLS
from profiles.charts.theme import PALETTE

__all__ = ["SPARSE_SHARE", "capacity_spec", "memory_spec", "provenance_key_spec", "scatter_spec", "taken_per_device"]

_BAND = 0.10
SPARSE_SHARE = 0.2
_BLUE = PALETTE[0]
_BAR_HEIGHT = 34


def scatter_spec(points: Rows, kinds: Sequence[str], floor: float | None = None) -> dict[str, Any]:
    """Predicted over measured latency on log axes, with the identity line and the bands of +-10 % and of the noise.

    A point is a held-out measurement: across is what was measured, up is what the cost model said. `kinds` are
    those of the whole page.
    """
    ends = _identity_rows(points, floor or 0.0)
    low, high = ends[0]["measured_ms"], ends[-1]["measured_ms"]
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(values=_log_ticks(low, high), format="~g")
    across = alt.X("measured_ms:Q", title="measured latency (ms)", scale=scale, axis=axis)
    shown = sorted({point["kind"] for point in points})
    line = alt.Chart(frame_of(ends)).encode(x=across)
    band = line.mark_area(opacity=0.13, color="#666").encode(
        y=alt.Y("low_ms:Q", scale=scale, axis=axis), y2="high_ms:Q"
    )
    noise = line.mark_area(opacity=0.22, color="#666").encode(
        y=alt.Y("noise_low_ms:Q", scale=scale, axis=axis), y2="noise_high_ms:Q"
    )
    identity = line.mark_line(color="#666", strokeWidth=1).encode(y=alt.Y("measured_ms:Q", scale=scale, axis=axis))
    dots = (
        alt.Chart(frame_of(points))
        .mark_point(filled=False, size=42, strokeWidth=1.5, clip=True)
        .encode(
            x=across,
            y=alt.Y("predicted_ms:Q", title="predicted latency (ms)", scale=scale, axis=axis),
            color=kind_colour(kinds, shown, "component kind"),
            # Legends merge where both channels have one domain and title.
            shape=alt.Shape("kind:N", title="component kind", scale=alt.Scale(domain=shown)),
            tooltip=_tooltips(
                points, ("kind", "component", "batch", "measured_ms", "predicted_ms", "low_ms", "high_ms")
            ),
        )
    )
    bands = (band,) if floor is None else (band, noise)
    return _filled(alt.layer(*bands, identity, dots), height=380)


def memory_spec(rows: Rows) -> dict[str, Any]:
    """Per device, the share of its memory budget that each path's parameters take; the line is the whole budget.

    Where all take little (`SPARSE_SHARE`), the axis ends soon after them, and the budget's line is out of sight.
    """
    fullest = max(taken_per_device(rows).values(), default=0.0)
    is_sparse = fullest < SPARSE_SHARE
    furthest = fullest * 1.1 if is_sparse else max(1.0, fullest) * 1.02
    bars = (
        alt.Chart(frame_of(rows))
        .mark_bar(height={"band": 0.62}, stroke="white", strokeWidth=1)
        .encode(
            x=alt.X(
                "share:Q",
                title="share of the device's memory budget",
                stack="zero",
                axis=alt.Axis(format="~%", tickCount=6),
                scale=alt.Scale(domain=[0, furthest], nice=False),
            ),
            y=alt.Y("device:N", title=None, sort=None),
            color=alt.Color("path:N", title="path", sort=None),
            order=alt.Order("order:Q"),
            tooltip=_tooltips(rows, ("device", "path", "parameters", "budget", "share")),
        )
    )
    budget = alt.Chart(frame_of(({"budget": 1.0},))).mark_rule(color="#333", strokeWidth=1.5).encode(x="budget:Q")
    layers = alt.layer(bars) if is_sparse else alt.layer(bars, budget)
    return _filled(layers, height=_height(rows, "device"))


def capacity_spec(rows: Rows, qps: float) -> dict[str, Any]:
    """The capacity of each policy with its interval, beside the load asked for (the vertical line)."""
    base = alt.Chart(frame_of(rows)).encode(y=alt.Y("title:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)))
    interval = base.mark_rule(strokeWidth=2.5, color=_BLUE).encode(
        x=alt.X("ci_low:Q", title="capacity (queries/s)", scale=alt.Scale(zero=True)),
        x2="ci_high:Q",
        strokeDash=_dash(),
    )
    blank = base.mark_point(size=110, filled=True, color="white", opacity=1).encode(x="max_qps:Q")
    middle = base.mark_point(size=110, strokeWidth=2, fill=_BLUE, stroke=_BLUE).encode(
        x="max_qps:Q",
        fillOpacity=_fill(),
        tooltip=_tooltips(rows, ("title", "max_qps", "ci_low", "ci_high", "provenance")),
    )
    asked = (
        alt.Chart(frame_of(({"qps": qps},)))
        .mark_rule(color="#333", strokeWidth=1.5)
        .encode(x="qps:Q", tooltip=[alt.Tooltip("qps:Q", title="load asked for (queries/s)", format=",.0f")])
    )
    return _filled(alt.layer(asked, interval, blank, middle), height=_height(rows, "title"))


def provenance_key_spec() -> dict[str, Any]:
    """The legend of marks: how a measured, a predicted and an estimated figure are drawn."""
    rows = tuple({"provenance": name, "low": 0.35, "high": 0.95, "middle": 0.65} for name in GRADES)
    base = alt.Chart(frame_of(rows)).encode(y=alt.Y("provenance:N", title=None, sort=None))
    across = alt.X("low:Q", scale=alt.Scale(domain=[0, 1]), axis=None)
    line = base.mark_rule(strokeWidth=2.5, color=_BLUE).encode(x=across, x2="high:Q", strokeDash=_dash())
    blank = base.mark_point(size=110, filled=True, color="white", opacity=1).encode(x="middle:Q")
    mark = base.mark_point(size=110, strokeWidth=2, fill=_BLUE, stroke=_BLUE).encode(x="middle:Q", fillOpacity=_fill())
    return _filled(alt.layer(line, blank, mark), height=3 * _BAR_HEIGHT)


def _fill() -> alt.FillOpacity:
    """Measured marks are full, predicted ones pale, estimated ones hollow."""
    return alt.FillOpacity(
        "provenance:O", scale=alt.Scale(type="ordinal", domain=list(GRADES), range=list(FILLS)), legend=None
    )


def _dash() -> alt.StrokeDash:
    """Lines of measured figures are solid, of predicted ones dashed, of estimated ones dotted."""
    scale = alt.Scale(domain=list(GRADES), range=list(DASHES))
    return alt.StrokeDash("provenance:N", scale=scale, legend=None)


def _identity_rows(points: Rows, floor: float) -> Rows:
    values = [row[key] for row in points for key in ("measured_ms", "predicted_ms") if row[key] and row[key] > 0]
    low, high = (min(values) * 0.8, max(values) * 1.25) if values else (0.1, 10.0)
    return tuple(
        {
            "measured_ms": at,
            "low_ms": at * (1 - _BAND),
            "high_ms": at * (1 + _BAND),
            "noise_low_ms": at * (1 - min(floor, 0.9)),
            "noise_high_ms": at * (1 + floor),
        }
        for at in (low, high)
    )


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between the ends, and their triples where there are few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(exponents) <= 3 else (1, 3) if len(exponents) <= 6 else (1,)
    return [value for power in exponents for step in steps if low <= (value := step * 10.0**power) <= high]


def taken_per_device(rows: Rows) -> dict[str, float]:
    """The shares of the memory budget that its paths take together, per device."""
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["device"]] = totals.get(row["device"], 0.0) + (row["share"] or 0.0)
    return totals


def _tooltips(rows: Rows, keys: Sequence[str]) -> list[alt.Tooltip]:
    first = rows[0] if rows else {}
    return [
        alt.Tooltip(
            f"{key}:{'Q' if isinstance(first[key], int | float) else 'N'}",
            title=key.replace("_", " "),
            format=".3s" if isinstance(first[key], float) else "",
        )
        for key in keys
        if key in first
    ]


def _height(rows: Rows, key: str) -> int:
    return _BAR_HEIGHT * max(2, len({row[key] for row in rows}))


def _filled(chart: alt.LayerChart | alt.FacetChart, *, height: int) -> dict[str, Any]:
    return {**chart.to_dict(), "width": "container", "height": height}
