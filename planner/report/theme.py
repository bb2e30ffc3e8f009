"""The look of the page's charts: the page's fonts and greys, colours that the colour-blind can tell apart."""

from typing import Any

__all__ = ["PALETTE", "chart_config"]

# Okabe and Ito, "Color universal design" (2008), without black and the yellow that vanishes on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
_INK = "#1f2933"
_MUTED = "#5b6770"
_LINE = "#e3e7eb"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def chart_config() -> dict[str, Any]:
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
        "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
        "legend": {**text, "orient": "top", "symbolSize": 70, "titlePadding": 6, "columnPadding": 14},
        "header": text,
        "range": {"category": list(PALETTE)},
        "mark": {"color": PALETTE[0]},
        "point": {"color": PALETTE[0], "fill": PALETTE[0], "stroke": PALETTE[0]},
    }
