"""What an icicle shows: every module's figures, its rectangle, and the texts for hovering and searching."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from profiles.charts.layout import Rectangle, icicle_layout, parent_indices
from profiles.charts.marks import row_mark
from profiles.charts.table import component_figures, component_table
from profiles.profilers.protocol import Figure
from profiles.records import ComponentProfile
from profiles.units import format_bytes, format_count, format_ms

__all__ = ["PLACE_COLUMNS", "icicle_frame"]

PLACE_COLUMNS = ("x0", "x1", "end", "depth", "depth_end", "excess", "gap", "skipped_px")
# Less is noise of the two medians.
_LEAST_EXCESS = 0.005
_FORMS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "latency_text": ("latency_ms", format_ms),
    "flops_text": ("flops", lambda count: format_count(count, "FLOP")),
    "tflops_text": ("tflops_per_s", lambda rate: f"{rate:.3g}"),
    "size_text": ("parameter_bytes", format_bytes),
    "memory_text": ("peak_memory_bytes", format_bytes),
}
_NO_NAMES: Mapping[str, str] = {}


def icicle_frame(
    rows: Sequence[ComponentProfile],
    *,
    names: Mapping[str, str] | None = None,
    figures: Sequence[Figure] = (),
    phase: str = "forward",
) -> pl.DataFrame:
    """The component figures of every row of the phase, its rectangle, and texts.

    The rectangle is `x0` to `x1` in the row from `depth` to `depth_end`, with the module's own time from `x0` to `end`
    (see `icicle_layout`); `share` is its own time, `inside` its children's, over the model's; `excess` how much more
    its children come to than it does, None where they do not; `gap` the part of the model's time by which they come to
    less, None where they do not or where there are none. `skipped_px` is how far beside its place a skipped row,
    which has no width, is marked.

    `rows` are in tree order, the model first, as `ModelProfile.rows` are. `names` are labels by path, for modules that
    are only numbered; `figures` of further profilers become columns.
    """
    chosen = [row for row in rows if row.phase == phase]
    parents = parent_indices([row.path for row in chosen])
    lines = [component_figures(row) for row in chosen]
    places = icicle_layout([_own_time(line["latency_ms"]) for line in lines], parents)
    inside = _inside([place.x1 - place.x0 for place in places], parents)
    shares = [place.end - place.x0 for place in places]
    columns: dict[str, list[Any]] = {
        "x0": [place.x0 for place in places],
        "x1": [place.x1 for place in places],
        "end": [place.end for place in places],
        "depth_end": [place.depth + 1 for place in places],
        "share": shares,
        "inside": inside,
        "label": [
            f"{row_mark(row)} {(names or _NO_NAMES).get(row.path, line['name'])}".strip()
            for row, line in zip(chosen, lines, strict=True)
        ],
        **_texts(lines, shares, inside),
    }
    excess = pl.Series("excess", list(map(_excess, shares, inside)), dtype=pl.Float64)
    frame = pl.DataFrame(lines, schema=component_table(()).schema, orient="row")
    return frame.with_columns(
        pl.Series("depth", [place.depth for place in places], dtype=pl.Int64),
        *(pl.Series(name, column) for name, column in columns.items()),
        excess,
        pl.Series("gap", list(map(_gap, shares, inside)), dtype=pl.Float64),
        pl.Series("skipped_px", _skipped_px(chosen, places, parents), dtype=pl.Float64),
        *(
            pl.Series(figure.name, [_number(row.figures.get(figure.name)) for row in chosen], dtype=pl.Float64)
            for figure in figures
            if figure.name not in frame.columns
        ),
    )


def _texts(
    lines: Sequence[Mapping[str, Any]], shares: Sequence[float], inside: Sequence[float]
) -> dict[str, list[str]]:
    """What hovering shows."""
    return {
        **{name: [_text(line[key], form) for line in lines] for name, (key, form) in _FORMS.items()},
        **{
            f"{kind}_text": [_spread_text(line[f"{kind}_ms"], line[f"{kind}_iqr_ms"]) for line in lines]
            for kind in ("in_situ", "warm", "cold")
        },
        "mfu_text": [_mfu_text(line["mfu"], line["flops"]) for line in lines],
        "bandwidth_text": [_bandwidth_text(line["gigabytes_per_s"], line["bandwidth_share"]) for line in lines],
        "share_text": [f"{share:.1%}" for share in shares],
        "inside_text": [_inside_text(*pair) for pair in zip(shares, inside, strict=True)],
    }


def _spread_text(median_ms: float | None, iqr_ms: float | None) -> str:
    spread = f" ± {format_ms(iqr_ms)} (IQR)" if iqr_ms is not None else ""
    return _text(median_ms, format_ms) + spread


def _mfu_text(mfu: float | None, flops: float | None) -> str:
    return "not applicable" if mfu is None and flops == 0 else _text(mfu, lambda share: f"{share:.1%}")


def _bandwidth_text(gigabytes_per_s: float | None, share: float | None) -> str:
    use = f", {share:.1%} of the device's" if share is not None else ""
    return _text(gigabytes_per_s, lambda rate: f"{rate:.3g} GB/s") + use


def _inside_text(share: float, inside: float) -> str:
    if not inside:
        return ""
    excess = _excess(share, inside)
    return f"{inside:.1%}" + (f", {excess:.1%} more than itself" if excess is not None else "")


def _own_time(latency_ms: float | None) -> float | None:
    """A time that noise made negative, as a small difference of two may be, has no width."""
    return None if latency_ms is None else max(latency_ms, 0.0)


def _inside(widths: Sequence[float], parents: Sequence[int | None]) -> list[float]:
    inside = [0.0] * len(widths)
    for width, parent in zip(widths, parents, strict=True):
        if parent is not None:
            inside[parent] += width
    return inside


def _excess(share: float, inside: float) -> float | None:
    return inside / share - 1 if share > 0 and inside > share * (1 + _LEAST_EXCESS) else None


def _gap(share: float, inside: float) -> float | None:
    return share - inside if 0 < inside < share * (1 - _LEAST_EXCESS) else None


def _skipped_px(
    rows: Sequence[ComponentProfile], places: Sequence[Rectangle], parents: Sequence[int | None]
) -> list[float]:
    """Skipped siblings stand side by side, towards the middle of what holds them."""
    seen: dict[int | None, int] = defaultdict(int)
    offsets: list[float] = []
    for row, place, parent in zip(rows, places, parents, strict=True):
        outer = places[parent] if parent is not None else place
        side = -1 if place.x0 > (outer.x0 + outer.x1) / 2 else 1
        offsets.append(side * (6.0 + 10.0 * seen[parent]))
        seen[parent] += row.provenance == "skipped"
    return offsets


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _text(value: float | None, form: Callable[[float], str]) -> str:
    return "unknown" if value is None else form(value)
