"""The roofline of a profile (Williams et al., 2009): FLOP/s over FLOPs per byte, under the device's peaks."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from profiles.charts.layout import parent_indices
from profiles.charts.theme import PALETTE, themed
from profiles.hardware import catalogue
from profiles.model_profile import SELF_KIND
from profiles.records import ComponentProfile, Latency
from profiles.units import MS_PER_S, format_count, format_ms

__all__ = ["roof_frame", "roofline_chart", "roofline_frame", "roofline_note"]

_TEXTS = ("path", "class_name", "group", "device", "dtype", "latency_text", "rate_text", "roof_text")
_NUMBERS = ("intensity", "flops_per_s", "roof_share", "latency_ms", "share")
_SCHEMA = {**dict.fromkeys(_TEXTS, pl.String), **dict.fromkeys(_NUMBERS, pl.Float64)}
_ROOF_SCHEMA = {"roof": pl.String, "intensity": pl.Float64, "flops_per_s": pl.Float64}
_MOST_CLASSES, _MOST_NAMED, _LEAST_GAP = 6, 5, 0.05
_AXES = ("intensity", "flops_per_s")
_OTHERS, _OTHERS_COLOUR = "other classes", "#8A97A1"
# Roofs reach this many times beyond the points.
_MARGIN = 4.0


def roofline_frame(rows: Sequence[ComponentProfile], *, phase: str = "forward") -> pl.DataFrame:
    """A line per module that holds no other, computes, and was timed alone; the slowest in the model first.

    `intensity` is FLOPs per byte moved, `flops_per_s` what was achieved alone and warm, `roof_share` that over the
    most that the device's peak and bandwidth allow at this intensity, None where they are not known. `group` is the
    class, of the most common ones; `share` the module's part of the model's latency.
    """
    chosen = [row for row in rows if row.phase == phase]
    points = [row for row in _innermost(chosen) if row.flops and row.bytes_moved and row.warm and row.warm.median_ms]
    common = {name for name, _ in Counter(row.class_name for row in points).most_common(_MOST_CLASSES)}
    whole = next((_in_model(row) for row in chosen if not row.path), None)
    lines = [_point(row, whole, row.class_name if row.class_name in common else _OTHERS) for row in points]
    frame = pl.DataFrame(lines, schema=_SCHEMA, orient="row")
    return frame.sort("share", descending=True, nulls_last=True, maintain_order=True)


def roof_frame(points: pl.DataFrame) -> pl.DataFrame:
    """The roofs over the points of `roofline_frame`: of each device and dtype among them whose peaks are known."""
    intensities = [float(value) for value in points["intensity"]]
    lines: list[dict[str, Any]] = []
    for device, dtype in dict.fromkeys(zip(points["device"], points["dtype"], strict=True)):
        if (peaks := _peaks(device, dtype)) is None:
            continue
        peak, bandwidth = peaks
        ridge = peak / bandwidth
        roof = f"{device}: {dtype} {format_count(peak, 'FLOP/s')}, memory {format_count(bandwidth, 'B/s')}"
        ends = (min(*intensities, ridge) / _MARGIN, ridge, max(*intensities, ridge) * _MARGIN)
        lines += [{"roof": roof, "intensity": end, "flops_per_s": min(peak, end * bandwidth)} for end in ends]
    return pl.DataFrame(lines, schema=_ROOF_SCHEMA, orient="row")


def roofline_note(rows: Sequence[ComponentProfile], *, phase: str = "forward") -> str:
    """What the chart leaves out: modules that compute nothing, and roofs that are not known."""
    innermost = [row for row in _innermost([row for row in rows if row.phase == phase]) if row.warm]
    without = sum(row.flops == 0 for row in innermost)
    unknown = sorted({f"{row.device} in {row.dtype}" for row in innermost if not _peaks(row.device, row.dtype)})
    notes = []
    if unknown:
        notes.append(f"No roof is drawn for {', '.join(unknown)}: the peaks are not known, only what was measured is.")
    if without:
        notes.append(f"{without} modules move bytes but count no FLOPs; their bandwidth is in the table.")
    return " ".join(notes)


def roofline_chart(rows: Sequence[ComponentProfile], *, phase: str = "forward", width: int = 900) -> alt.LayerChart:
    """Every point a module, as large as its part of the model's latency; lines are what the device allows."""
    points = roofline_frame(rows, phase=phase)
    roofs = roof_frame(points)
    layers = [_points(points, roofs), _names(_named(points, roofs))]
    if not roofs.is_empty():
        layers = [*_roofs(roofs), *layers]
    return themed(alt.LayerChart(layer=layers, width=width, height=360))


def _points(points: pl.DataFrame, roofs: pl.DataFrame) -> alt.Chart:
    shown = pl.concat([points.select(_AXES), roofs.select(_AXES)])
    groups = [name for name, _ in Counter(points["group"]).most_common() if name != _OTHERS]
    colours = [*PALETTE[: len(groups)], _OTHERS_COLOUR]
    chart: alt.Chart = (
        alt.Chart(points)
        .mark_circle(opacity=0.75, stroke="white", strokeWidth=0.8)
        .encode(
            x=alt.X(
                "intensity:Q",
                title="FLOPs per byte moved",
                scale=_log_scale(shown["intensity"]),
                axis=_log_axis(shown["intensity"], ".3~g"),
            ),
            y=alt.Y(
                "flops_per_s:Q",
                title="FLOP/s, alone and warm",
                scale=_log_scale(shown["flops_per_s"]),
                axis=_log_axis(shown["flops_per_s"], "~s"),
            ),
            size=alt.Size("share:Q", scale=alt.Scale(range=[40, 700], zero=True), legend=None),
            color=alt.Color(
                "group:N", title="class", scale=alt.Scale(domain=[*groups, *_others(points)], range=colours)
            ),
            tooltip=[
                alt.Tooltip("path:N"),
                alt.Tooltip("class_name:N", title="class"),
                alt.Tooltip("rate_text:N", title="achieved"),
                alt.Tooltip("intensity:Q", title="FLOPs per byte", format=".3~g"),
                alt.Tooltip("roof_text:N", title="roof"),
                alt.Tooltip("latency_text:N", title="alone, warm"),
                alt.Tooltip("share:Q", title="of the model's latency", format=".1%"),
            ],
        )
    )
    return chart


def _named(points: pl.DataFrame, roofs: pl.DataFrame) -> pl.DataFrame:
    """The modules with the most time whose names do not lie on one another."""
    low, high = _log_domain(pl.concat([points["flops_per_s"], roofs["flops_per_s"]]))
    room = math.log(high / low) * _LEAST_GAP
    chosen: list[int] = []
    rates = [math.log(rate) for rate in points["flops_per_s"]]
    for index, rate in enumerate(rates):
        if len(chosen) < _MOST_NAMED and all(abs(rate - rates[other]) > room for other in chosen):
            chosen.append(index)
    return points[chosen]


def _names(points: pl.DataFrame) -> alt.Chart:
    """The paths of the modules with the most time."""
    names: alt.Chart = (
        alt.Chart(points)
        .mark_text(align="left", dx=10, dy=-8, fontSize=10, limit=260, color="#33424d")
        .encode(x="intensity:Q", y="flops_per_s:Q", text="path:N")
    )
    return names


def _roofs(roofs: pl.DataFrame) -> list[alt.Chart]:
    base = alt.Chart(roofs).encode(x="intensity:Q", y="flops_per_s:Q", detail="roof:N")
    last = roofs.group_by("roof", maintain_order=True).last()
    labels = alt.Chart(last).mark_text(align="right", dy=-7, fontSize=10.5, color="#33424d")
    return [
        base.mark_line(color="#33424d", strokeWidth=1.4),
        labels.encode(x="intensity:Q", y="flops_per_s:Q", text="roof:N"),
    ]


def _others(points: pl.DataFrame) -> list[str]:
    return [_OTHERS] if _OTHERS in set(points["group"]) else []


def _log_domain(values: pl.Series) -> tuple[float, float]:
    """Twice as far as the values, so that few that are alike do not fill the chart."""
    known = [float(value) for value in values] or [1.0]
    return min(known) / 2, max(known) * 2


def _log_scale(values: pl.Series) -> alt.Scale:
    return alt.Scale(type="log", nice=False, domain=list(_log_domain(values)))


def _log_axis(values: pl.Series, number: str) -> alt.Axis:
    """Lines at powers of ten alone, where there are several."""
    low, high = (math.log10(end) for end in _log_domain(values))
    powers = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
    return alt.Axis(format=number, values=powers) if len(powers) > 1 else alt.Axis(format=number, tickCount=5)


def _point(row: ComponentProfile, whole: Latency | None, group: str) -> dict[str, Any]:
    flops, moved, own = row.flops or 0.0, row.bytes_moved or 1.0, _in_model(row)
    latency_ms = row.warm.median_ms if row.warm else 0.0
    intensity, rate = flops / moved, flops * MS_PER_S / latency_ms
    peaks = _peaks(row.device, row.dtype)
    share = rate / min(peaks[0], intensity * peaks[1]) if peaks else None
    return {
        "path": row.path,
        "class_name": row.class_name,
        "group": group,
        "device": row.device,
        "dtype": row.dtype,
        "intensity": intensity,
        "flops_per_s": rate,
        "roof_share": share,
        "latency_ms": latency_ms,
        "share": own.median_ms / whole.median_ms if own and whole and whole.median_ms else None,
        "latency_text": format_ms(latency_ms),
        "rate_text": format_count(rate, "FLOP/s"),
        "roof_text": f"{share:.1%} of what the device allows here" if share is not None else "not known",
    }


def _peaks(device: str, dtype: str) -> tuple[float, float] | None:
    """Peak FLOP/s and bytes per second, where the catalogue has both."""
    hardware = catalogue().get(device)
    peak = hardware.peak(dtype) if hardware else None
    return (peak, hardware.bandwidth_bytes_per_s) if hardware and peak and hardware.bandwidth_bytes_per_s else None


def _innermost(rows: Sequence[ComponentProfile]) -> list[ComponentProfile]:
    """The modules that hold no other module which ran."""
    modules = [row for row in rows if row.kind != SELF_KIND]
    parents = parent_indices([row.path for row in modules])
    holding = {parent for row, parent in zip(modules, parents, strict=True) if row.provenance != "skipped"}
    return [row for index, row in enumerate(modules) if index not in holding]


def _in_model(row: ComponentProfile) -> Latency | None:
    return row.in_situ or row.warm
