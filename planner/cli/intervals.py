"""The error bars of a run on the terminal."""

import math
from typing import TYPE_CHECKING

from planner.cli.output import print_table
from profiles.units import format_ms

if TYPE_CHECKING:
    from collections.abc import Callable

    from serving_sim.error_bars import ErrorBar, Figures

__all__ = ["show_intervals", "spread_of_late", "spread_of_percentile"]

_LATE = "sla_violation_share"


def show_intervals(figures: "Figures") -> None:
    """A table of the percentiles and the share of late queries, each with its intervals; none where all lack them."""
    bars = figures.error_bars
    has_tables = any(bar.table_low is not None for bar in bars.values())
    if not has_tables and all(bar.ci_low is None for bar in bars.values()):
        return
    rows = [
        (name, shown(value), _range(bar.ci_low, bar.ci_high, shown), _range(bar.table_low, bar.table_high, shown))
        for name, value, bar, shown in (
            *((name, value, bars[name], format_ms) for name, value in figures.latency_ms.items()),
            ("late", figures.sla_violation_share, bars[_LATE], _percent),
        )
    ]
    columns = ("", "figure", "by the queries drawn", "by the tables")
    last = None if has_tables else -1
    print_table("95 % intervals", columns[:last], [row[:last] for row in rows])


def spread_of_percentile(figures: "Figures", name: str) -> str:
    """` +-5 %`: half of the interval by both errors over the figure; nothing where it is not known."""
    value = figures.latency_ms[name]
    half = _half(figures.error_bars.get(name), value)
    return "" if half is None or not value else f" +-{half / value:.1%}"


def spread_of_late(figures: "Figures") -> str:
    """` +-0.10`: half of the interval by both errors, in points."""
    half = _half(figures.error_bars.get(_LATE), figures.sla_violation_share)
    return "" if half is None else f" +-{100 * half:.2f}"


def _half(bar: "ErrorBar | None", value: float) -> float | None:
    """Both errors in quadrature, each by its farther end; None where the queries' is not known."""
    if bar is None or bar.ci_low is None or bar.ci_high is None:
        return None
    by_queries = max(value - bar.ci_low, bar.ci_high - value)
    by_tables = max((abs(end - value) for end in (bar.table_low, bar.table_high) if end is not None), default=0.0)
    return math.hypot(by_queries, by_tables)


def _range(low: float | None, high: float | None, shown: "Callable[[float], str]") -> str:
    if low is None:
        return "-"
    return f"{shown(low)} or more" if high is None else f"{shown(low)} to {shown(high)}"


def _percent(share: float) -> str:
    return f"{share:.3%}"
