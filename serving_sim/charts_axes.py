"""Axes that several charts share."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import altair as alt

__all__ = ["percent_axis", "short_axis"]


def percent_axis() -> "alt.Axis":
    """Shares in percent."""
    import altair as alt

    return alt.Axis(format="~%")


def short_axis() -> "alt.Axis":
    """Large numbers as 10k, 2M."""
    import altair as alt

    return alt.Axis(format="~s")
