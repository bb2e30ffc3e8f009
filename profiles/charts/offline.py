"""Charts in pages that open offline: Vega inlined, specs that cannot break out of their script, one look for pages."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from markupsafe import Markup

from profiles.charts.theme import PALETTE, RAMP

__all__ = ["chart_config", "page_chart", "script_json", "vega_bundle"]

# Views of several views: their width is that of their parts.
_MULTIPLE = frozenset({"concat", "facet", "hconcat", "vconcat", "repeat"})
# The palette's yellow, which a thin line or a small mark on white does not show.
_FAINT = "#F0E442"
_INK = "#1f2933"
_MUTED = "#5b6770"
_LINE = "#e3e7eb"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def page_chart(spec: Mapping[str, Any], *, columns: int | None = None) -> dict[str, Any]:
    """The Vega-Lite spec with the page's look; a single view fills the width of its column.

    `columns` are those of legends.
    """
    body = {key: part for key, part in spec.items() if key != "title"}
    body |= {"config": chart_config(columns), "background": None}
    if not _MULTIPLE.isdisjoint(spec):
        return body
    return {**body, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def script_json(value: object) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 (every sign that HTML knows is escaped above)


@cache
def vega_bundle() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script, which may stand inside a script element; bundled once a process."""
    import vl_convert

    bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub makes the optional snippet required
    return Markup(bundle.replace("</script", "<\\/script"))  # noqa: S704 (a library's source, not a user's text)


def chart_config(legend_columns: int | None = None) -> dict[str, Any]:
    """The Vega-Lite `config` of every chart on a page."""
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
