"""The one look of every chart: colours that colour-blind readers can tell apart, measured unlike estimated."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt

__all__ = [
    "PALETTE",
    "PROVENANCE_COLOURS",
    "PROVENANCE_DASHES",
    "RAMP",
    "provenance_colour",
    "provenance_dash",
    "themed",
]

# Okabe and Ito's palette (2008), strongest contrasts first.
PALETTE: Sequence[str] = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
PROVENANCE_COLOURS: Mapping[str, str] = {
    "measured": "#0072B2",
    "aggregated": "#56B4E9",
    "predicted": "#009E73",
    "estimated": "#E69F00",
    "skipped": "#BBBBBB",
}
PROVENANCE_DASHES: Mapping[str, list[int]] = {
    "measured": [1, 0],
    "aggregated": [5, 3],
    "predicted": [8, 3],
    "estimated": [2, 2],
    "skipped": [1, 3],
}
# Brewer's yellow to blue, which colour-blind readers can order, as far as black text reads on it.
RAMP: Sequence[str] = ("#F8F1C4", "#D3EBB5", "#A3DAB6", "#69C3BD", "#41A8C9")
_CONFIG: Mapping[str, Any] = {
    "range": {"category": list(PALETTE), "heatmap": {"scheme": "viridis"}, "ramp": list(RAMP)},
    "view": {"stroke": "transparent"},
    "axis": {"gridColor": "#E6E6E6", "domainColor": "#888888", "tickColor": "#888888", "labelFontSize": 11},
    "title": {"anchor": "start", "fontSize": 14},
    "font": "system-ui, sans-serif",
}

C = TypeVar("C", alt.Chart, alt.LayerChart, alt.FacetChart, alt.HConcatChart, alt.VConcatChart, alt.ConcatChart)


def themed(chart: C) -> C:
    """The same chart with the shared look; for the outermost chart only."""
    copy = chart.copy()
    copy.config = alt.Config(**_CONFIG)
    return copy


def provenance_colour(field: str = "provenance") -> alt.Color:
    """Colour by where a figure comes from."""
    scale = alt.Scale(domain=list(PROVENANCE_COLOURS), range=list(PROVENANCE_COLOURS.values()))
    return alt.Color(field, type="nominal", scale=scale, title="figures are")


def provenance_dash(field: str = "provenance") -> alt.StrokeDash:
    """Line style by where a figure comes from, for readers who do not see the colour."""
    scale = alt.Scale(domain=list(PROVENANCE_DASHES), range=list(PROVENANCE_DASHES.values()))
    return alt.StrokeDash(field, type="nominal", scale=scale, title="figures are")
