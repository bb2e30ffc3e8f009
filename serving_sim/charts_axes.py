"""Axes, lines that can be told apart, and rules at SLAs, which several charts share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

__all__ = ["line_channels", "percent_axis", "short_axis", "sla_rules"]

# The sparser, the later a line is drawn.
_DASHES = ([1, 0], [9, 4], [5, 5], [2, 5], [2, 9])
_THINNEST, _THINNER = 1.5, 1.0
_LONGEST_LABEL = 280


def line_channels(frame: "pl.DataFrame", column: str, title: str = "policy") -> dict[str, Any]:
    """Colour, dashes and width of a line for each value of a column, in their order there.

    Each is thinner and has wider gaps than those before it, which lie below it: where lines coincide, all are seen.
    """
    import altair as alt

    names = frame[column].unique(maintain_order=True).to_list()
    widths = [_THINNEST + _THINNER * place for place in reversed(range(len(names)))]

    dashes = [_DASHES[place % len(_DASHES)] for place in range(len(names))]
    legend = alt.Legend(labelLimit=_LONGEST_LABEL)
    return {
        "color": alt.Color(f"{column}:N", title=title, sort=names, legend=legend),
        "strokeDash": alt.StrokeDash(f"{column}:N", title=title, scale=alt.Scale(domain=names, range=dashes)),
        "strokeWidth": alt.StrokeWidth(
            f"{column}:O", scale=alt.Scale(type="ordinal", domain=names, range=widths), legend=None
        ),
    }


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
