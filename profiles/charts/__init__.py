"""Charts of profiles: pure functions to frames, and thin renderers to Altair charts."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from profiles.charts.difference import difference_chart, difference_frame
    from profiles.charts.icicle import ICICLE_METRICS, icicle_chart, icicle_frame
    from profiles.charts.kernels import kernel_chart, kernel_frame
    from profiles.charts.roofline import roof_frame, roofline_chart, roofline_frame
    from profiles.charts.table import component_table
    from profiles.charts.theme import PALETTE, provenance_colour, provenance_dash, themed

__all__ = [
    "ICICLE_METRICS",
    "PALETTE",
    "component_table",
    "difference_chart",
    "difference_frame",
    "icicle_chart",
    "icicle_frame",
    "kernel_chart",
    "kernel_frame",
    "provenance_colour",
    "provenance_dash",
    "roof_frame",
    "roofline_chart",
    "roofline_frame",
    "themed",
]

# All of these load Polars or Altair.
__getattr__ = lazy_attributes(
    __name__,
    {
        **dict.fromkeys(("ICICLE_METRICS", "icicle_chart", "icicle_frame"), "profiles.charts.icicle"),
        **dict.fromkeys(("difference_chart", "difference_frame"), "profiles.charts.difference"),
        **dict.fromkeys(("kernel_chart", "kernel_frame"), "profiles.charts.kernels"),
        **dict.fromkeys(("roof_frame", "roofline_chart", "roofline_frame"), "profiles.charts.roofline"),
        "component_table": "profiles.charts.table",
        **dict.fromkeys(("PALETTE", "provenance_colour", "provenance_dash", "themed"), "profiles.charts.theme"),
    },
)
