"""Axes, and rules at SLAs, that several charts share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import altair as alt

__all__ = ["percent_axis", "short_axis", "sla_rules"]


def percent_axis() -> "alt.Axis":
    """Shares in percent."""
    import altair as alt

    return alt.Axis(format="~%")


def short_axis() -> "alt.Axis":
    """Large numbers as 10k, 2M."""
    import altair as alt

    return alt.Axis(format="~s")


def sla_rules(slas_ms: Sequence[float], channel: Literal["x", "y"]) -> "alt.Chart":
    """A dashed rule at each SLA, across an axis of latencies (ms)."""
    import altair as alt
    import polars as pl

    rules = alt.Chart(pl.DataFrame({"sla_ms": list(slas_ms)})).mark_rule(strokeDash=[4, 4])
    drawn: alt.Chart = rules.encode(x="sla_ms:Q") if channel == "x" else rules.encode(y="sla_ms:Q")
    return drawn
