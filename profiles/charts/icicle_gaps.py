"""What the children of an icicle's module do not fill of it."""

import altair as alt

from profiles.charts.icicle_labels import LEFT, width_px

__all__ = ["GAP_TEXT", "gap_labels", "gap_rectangles"]

GAP_TEXT = "not attributed: medians of separate passes"
_FILL, _EDGE, _INK = "#F4F5F6", "#B4BEC6", "#5b6770"
_PAD_PX, _LEAST_ROOM_PX = 5, 40
_TOOLTIP = f"{{'within': datum.path === '' ? datum.class_name : datum.path, '{GAP_TEXT}': format(datum.gap, '.1%')}}"


def gap_rectangles(base: alt.Chart, scale: alt.Scale) -> alt.Chart:
    """Grey and dashed, beside the children, up to where the module itself ends; no module, so a click does nothing."""
    rectangles: alt.Chart = (
        base.transform_calculate(gap_start="datum.end - datum.gap", below="datum.depth + 1", bottom="datum.depth + 2")
        .mark_rect(
            clip=True, fill=_FILL, stroke=_EDGE, strokeWidth=0.6, strokeDash=[2, 3], tooltip=alt.ExprRef(_TOOLTIP)
        )
        .encode(x=alt.X("gap_start:Q", scale=scale), x2="end:Q", y=alt.Y("below:Q"), y2="bottom:Q")
    )
    return rectangles


def gap_labels(base: alt.Chart, scale: alt.Scale, right: str) -> alt.Chart:
    """What the grey rectangles are, where there is room."""
    room_px = f"({width_px(right, 'gap_start')} - {2 * _PAD_PX})"
    labels: alt.Chart = (
        base.transform_calculate(gap_start="datum.end - datum.gap", middle="datum.depth + 1.5")
        .transform_calculate(start=f"max(datum.gap_start, {LEFT})", text=f"'{GAP_TEXT}'")
        .transform_filter(f"{room_px} > {_LEAST_ROOM_PX}")
        .mark_text(clip=True, align="left", dx=_PAD_PX, limit=alt.ExprRef(room_px), fontSize=10, color=_INK)
        .encode(x=alt.X("start:Q", scale=scale), y=alt.Y("middle:Q"), text="text:N")
    )
    return labels
