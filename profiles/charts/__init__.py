"""Charts of profiles: pure functions to frames, and thin renderers to Altair charts."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from profiles.charts.icicle import ICICLE_METRICS, icicle_chart, icicle_frame
    from profiles.charts.table import component_table
    from profiles.charts.theme import PALETTE, provenance_colour, provenance_dash, themed

__all__ = [
    "ICICLE_METRICS",
    "PALETTE",
    "component_table",
    "icicle_chart",
    "icicle_frame",
    "provenance_colour",
    "provenance_dash",
    "themed",
]

# All of these load Polars or Altair.
__getattr__ = lazy_attributes(
    __name__,
    {
        **dict.fromkeys(("ICICLE_METRICS", "icicle_chart", "icicle_frame"), "profiles.charts.icicle"),
        "component_table": "profiles.charts.table",
        **dict.fromkeys(("PALETTE", "provenance_colour", "provenance_dash", "themed"), "profiles.charts.theme"),
    },
)
