"""The look of the page's charts: the page's fonts and greys over the colours that all charts share."""

from typing import Any

from profiles.charts.theme import PALETTE, RAMP

__all__ = ["chart_config"]

# The palette's yellow, which a thin line or a small mark on white does not show.
_FAINT = "#F0E442"
_INK = "#1f2933"
_MUTED = "#5b6770"
_LINE = "#e3e7eb"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def chart_config(legend_columns: int | None = None) -> dict[str, Any]:
    """The Vega-Lite `config` of every chart on the page."""
    text = {
        "labelColor": _MUTED,
        "labelFontSize": 11,
        "titleColor": _INK,
        "titleFontSize": 11.5,
        "titleFontWeight": 500,
    }
    return {
        "font": _FONT,
        "view": {"stroke": None},
        "axis": {**text, "gridColor": _LINE, "domainColor": "#b8c0c8", "tickColor": "#b8c0c8", "titlePadding": 8},
        "axisQuantitative": {"tickCount": 6},
        "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
        "legend": {
            **text,
            "orient": "top",
            "columns": legend_columns,
            "symbolSize": 70,
            "labelLimit": 260,
            "titlePadding": 8,
            "titleOrient": "left",
            "columnPadding": 14,
        },
        "header": text,
        "range": {"category": [colour for colour in PALETTE if colour != _FAINT], "ramp": list(RAMP)},
        "mark": {"color": PALETTE[0]},
    }
