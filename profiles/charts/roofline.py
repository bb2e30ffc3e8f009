"""The roofline of a profile (Williams et al., 2009): FLOP/s over FLOPs per byte, under the device's peaks."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from profiles.analyses.roofline import Roofline, achieved_roofline, published_roofline
from profiles.charts.layout import parent_indices
from profiles.charts.theme import PALETTE, themed
from profiles.errors import InputError
from profiles.model_profile import SELF_KIND
from profiles.records import ComponentProfile, Latency
from profiles.units import MS_PER_S, format_count, format_ms

__all__ = ["roof_frame", "roofline_chart", "roofline_frame", "roofline_note"]

_TEXTS = ("path", "class_name", "group", "device", "dtype", "latency_text", "rate_text", "roof_text")
_NUMBERS = ("intensity", "flops_per_s", "roof_share", "latency_ms", "share")
_SCHEMA = {**dict.fromkeys(_TEXTS, pl.String), **dict.fromkeys(_NUMBERS, pl.Float64)}
_ROOF_SCHEMA = {"roof": pl.String, "source": pl.String, "intensity": pl.Float64, "flops_per_s": pl.Float64}
_MOST_CLASSES, _MOST_NAMED = 6, 5
# Of the chart's height and width: as far apart as names have to be, and as long as they are.
_LEAST_GAP, _NAME_WIDTH = 0.05, 0.25
_AXES = ("intensity", "flops_per_s")
_PUBLISHED, _ACHIEVED = "published", "achieved here"
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


def roof_frame(points: pl.DataFrame, rows: Sequence[ComponentProfile] = ()) -> pl.DataFrame:
    """The roofs over the points of `roofline_frame`: of each device and dtype among them.

    `source` is `published` where the catalogue has the peaks. Where it has not, the roof is the best that a module of
    `rows` (those of the points' phase) achieved, `achieved here`, and there is none without such a module.
    """
    pairs = dict.fromkeys(zip(points["device"], points["dtype"], strict=True))
    roofs = [found for device, dtype in pairs if (found := _roof(rows, device, dtype))]
    intensities = [
        *(float(value) for value in points["intensity"]),
        *(roof.flops_per_s / roof.bytes_per_s for _, _, roof in roofs),
    ]
    lines: list[dict[str, Any]] = []
    for title, source, roof in roofs:
        peak, bandwidth = roof.flops_per_s, roof.bytes_per_s
        ends = (min(intensities) / _MARGIN, peak / bandwidth, max(intensities) * _MARGIN)
        lines += [
            {"roof": title, "source": source, "intensity": end, "flops_per_s": min(peak, end * bandwidth)}
            for end in ends
        ]
    return pl.DataFrame(lines, schema=_ROOF_SCHEMA, orient="row")


def _roof(rows: Sequence[ComponentProfile], device: str, dtype: str) -> tuple[str, str, Roofline] | None:
    """The roof's title, its source and itself."""
    source, roof = _PUBLISHED, published_roofline(device, dtype)
    if roof is None:
        source, roof = _ACHIEVED, _achieved(rows, device, dtype)
    if roof is None:
        return None
    peak, bandwidth = format_count(roof.flops_per_s, "FLOP/s"), format_count(roof.bytes_per_s, "B/s")
    ending = f", {source}" if source == _ACHIEVED else ""
    return f"{device}: {dtype} {peak}, memory {bandwidth}{ending}", source, roof


def _achieved(rows: Sequence[ComponentProfile], device: str, dtype: str) -> Roofline | None:
    try:
        return achieved_roofline(row for row in rows if (row.device, row.dtype) == (device, dtype))
    except InputError:
        return None


def roofline_note(rows: Sequence[ComponentProfile], *, phase: str = "forward") -> str:
    """What the chart leaves out: modules that compute nothing, and roofs that are not known."""
    innermost = [row for row in _innermost([row for row in rows if row.phase == phase]) if row.warm]
    without = sum(row.flops == 0 for row in innermost)
    unknown = sorted(
        {f"{row.device} in {row.dtype}" for row in innermost if published_roofline(row.device, row.dtype) is None}
    )
    notes = []
    if unknown:
        notes.append(
            f"No peaks are published for {', '.join(unknown)}: the dashed roof is the best that modules of the profile "
            "achieved, by arithmetic and by traffic, a lower bound of what the device can do."
        )
    if without:
        notes.append(f"{without} modules move bytes but count no FLOPs; their bandwidth is in the table.")
    return " ".join(notes)


def roofline_chart(rows: Sequence[ComponentProfile], *, phase: str = "forward", width: int = 900) -> alt.LayerChart:
    """Every point a module, as large as its part of the model's latency; lines are what the device allows."""
    points = roofline_frame(rows, phase=phase)
    roofs = roof_frame(points, [row for row in rows if row.phase == phase])
    layers = [_points(points, roofs), _names(_named(points, roofs))]
    if not roofs.is_empty():
        layers = [*_roofs(roofs), *layers]
    return themed(alt.LayerChart(layer=layers, width=width, height=360))


def _points(points: pl.DataFrame, roofs: pl.DataFrame) -> alt.Chart:
    across, up = _domains(points, roofs)
    groups = [name for name, _ in Counter(points["group"]).most_common() if name != _OTHERS]
    classes, colours = [*groups, *_others(points)], [*PALETTE[: len(groups)], _OTHERS_COLOUR]
    chart: alt.Chart = (
        alt.Chart(points)
        .mark_circle(opacity=0.75, stroke="white", strokeWidth=0.8)
        .encode(
            x=alt.X(
                "intensity:Q",
                title="FLOPs per byte moved",
                scale=_log_scale(across),
                axis=_log_axis(across, ".3~g"),
            ),
            y=alt.Y(
                "flops_per_s:Q",
                title="FLOP/s, alone and warm",
                scale=_log_scale(up),
                axis=_log_axis(up, "~s"),
            ),
            size=alt.Size("share:Q", scale=alt.Scale(range=[40, 700], zero=True), legend=None),
            color=alt.Color(
                "group:N",
                title="class",
                scale=alt.Scale(domain=classes, range=colours),
                legend=alt.Legend() if len(classes) > 1 else None,
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
    """The modules with the most time whose names lie neither on one another nor on another module's point."""
    across, up = _domains(points, roofs)
    places = [(_place(intensity, across), _place(rate, up)) for intensity, rate in points.select(_AXES).iter_rows()]
    chosen: list[int] = []
    for index, (x, y) in enumerate(places):
        taken = [places[other] for other in chosen]
        if len(chosen) < _MOST_NAMED and all(
            abs(y - other[1]) > _LEAST_GAP or abs(x - other[0]) > _NAME_WIDTH for other in taken
        ):
            chosen.append(index)
    return points[chosen]


def _place(value: float, domain: tuple[float, float]) -> float:
    """Where the value lies on a logarithmic axis, from 0 to 1."""
    low, high = map(math.log, domain)
    return (math.log(value) - low) / (high - low)


def _names(points: pl.DataFrame) -> alt.Chart:
    """The paths of the modules with the most time."""
    names: alt.Chart = (
        alt.Chart(points)
        .mark_text(align="left", baseline="top", dx=12, dy=5, fontSize=10, limit=260, color="#33424d")
        .encode(x="intensity:Q", y="flops_per_s:Q", text="path:N")
    )
    return names


def _roofs(roofs: pl.DataFrame) -> list[alt.Chart]:
    base = alt.Chart(roofs).encode(x="intensity:Q", y="flops_per_s:Q", detail="roof:N")
    # On the left of the ridge, above the roof, there are no points.
    tops = roofs.group_by("roof", maintain_order=True).agg(pl.col("intensity").min(), pl.col("flops_per_s").max())
    labels = alt.Chart(tops).mark_text(align="left", dx=6, dy=-8, fontSize=10.5, color="#33424d")
    dash = alt.when(alt.datum.source == _ACHIEVED).then(alt.value([6, 4])).otherwise(alt.value([1, 0]))
    return [
        base.mark_line(color="#33424d", strokeWidth=1.4, clip=True).encode(strokeDash=dash),
        labels.encode(x="intensity:Q", y="flops_per_s:Q", text="roof:N"),
    ]


def _others(points: pl.DataFrame) -> list[str]:
    return [_OTHERS] if _OTHERS in set(points["group"]) else []


def _domains(points: pl.DataFrame, roofs: pl.DataFrame) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of both axes. Across, from one end of the roofs to the other, so that they span the chart."""
    up = _log_domain(pl.concat([points["flops_per_s"], roofs["flops_per_s"]]))
    if roofs.is_empty():
        return _log_domain(points["intensity"]), up
    ends = sorted(float(value) for value in roofs["intensity"])
    return (ends[0], ends[-1]), up


def _log_domain(values: pl.Series) -> tuple[float, float]:
    """Twice as far as the values, so that few that are alike do not fill the chart."""
    known = [float(value) for value in values] or [1.0]
    return min(known) / 2, max(known) * 2


def _log_scale(domain: tuple[float, float]) -> alt.Scale:
    return alt.Scale(type="log", nice=False, domain=list(domain))


def _log_axis(domain: tuple[float, float], number: str) -> alt.Axis:
    """Lines at powers of ten alone, where there are several."""
    low, high = map(math.log10, domain)
    powers = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
    return alt.Axis(format=number, values=powers) if len(powers) > 1 else alt.Axis(format=number, tickCount=5)


def _point(row: ComponentProfile, whole: Latency | None, group: str) -> dict[str, Any]:
    flops, moved, own = row.flops or 0.0, row.bytes_moved or 1.0, _in_model(row)
    latency_ms = row.warm.median_ms if row.warm else 0.0
    intensity, rate = flops / moved, flops * MS_PER_S / latency_ms
    roof = published_roofline(row.device, row.dtype)
    share = rate / min(roof.flops_per_s, intensity * roof.bytes_per_s) if roof else None
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


def _innermost(rows: Sequence[ComponentProfile]) -> list[ComponentProfile]:
    """The modules that hold no other module which ran."""
    modules = [row for row in rows if row.kind != SELF_KIND]
    parents = parent_indices([row.path for row in modules])
    holding = {parent for row, parent in zip(modules, parents, strict=True) if row.provenance != "skipped"}
    return [row for index, row in enumerate(modules) if index not in holding]


def _in_model(row: ComponentProfile) -> Latency | None:
    return row.in_situ or row.warm
