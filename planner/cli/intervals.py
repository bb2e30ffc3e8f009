"""The error bars of a run on the terminal."""

import math
from typing import TYPE_CHECKING

from planner.cli.output import print_table
from profiles.units import format_ms

if TYPE_CHECKING:
    from collections.abc import Callable

    from serving_sim.error_bars import ErrorBar, Figures

__all__ = ["show_intervals", "with_range_of_late", "with_range_of_percentile"]

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


def with_range_of_percentile(figures: "Figures", name: str) -> str:
    """The percentile, and on a second line its interval by both errors where that is known."""
    value = figures.latency_ms[name]
    return _with_range(value, figures.error_bars.get(name), format_ms)


def with_range_of_late(figures: "Figures") -> str:
    """The share of late queries, and on a second line its interval by both errors where that is known."""
    return _with_range(figures.sla_violation_share, figures.error_bars.get(_LATE), "{:.2%}".format)


def _with_range(value: float, bar: "ErrorBar | None", shown: "Callable[[float], str]") -> str:
    """Both errors in quadrature, each end for itself."""
    if bar is None or bar.ci_low is None or bar.ci_high is None:
        return shown(value)
    low, high = (
        math.hypot(value - by_queries, value - (value if by_tables is None else by_tables))
        for by_queries, by_tables in ((bar.ci_low, bar.table_low), (bar.ci_high, bar.table_high))
    )
    return f"{shown(value)}\n{shown(max(value - low, 0.0))} to {shown(value + high)}"


def _range(low: float | None, high: float | None, shown: "Callable[[float], str]") -> str:
    if low is None:
        return "-"
    return f"{shown(low)} or more" if high is None else f"{shown(low)} to {shown(high)}"


def _percent(share: float) -> str:
    return f"{share:.3%}"
