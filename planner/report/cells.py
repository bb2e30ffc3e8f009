"""How a value reads: three significant digits, units that fit, a dash for what is not known."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.report.blocks import CellKind
from profiles.units import format_bytes, format_count, format_joules, format_ms

__all__ = [
    "UNKNOWN",
    "format_accuracy",
    "format_auc",
    "format_money",
    "format_number",
    "format_percent",
    "format_points",
    "format_rate",
    "format_value",
    "join_names",
]

UNKNOWN = "–"
_LEAST_MONEY = 1e-9


def format_value(value: Any, kind: CellKind) -> str:
    """The text of a table's cell."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _FORMATS[kind](value)


def format_number(value: float) -> str:
    """At least three significant digits, thousands set apart: `1,240`, `0.0123`, `3.1`."""
    if value == 0 or 1e-4 <= abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2e}"


def format_percent(share: float) -> str:
    """A share in percent; below 1 % with two decimals, and one near the whole is not rounded up to it."""
    percent = 100 * share
    if 0 < percent < 0.01:
        return "< 0.01 %"
    if 99.99 < percent < 100:
        return "> 99.99 %"
    text = f"{percent:.{1 if abs(percent) >= 1 else 2}f}"
    return f"{percent:.2f} %" if text == "100.0" and percent != 100 else f"{'0' if percent == 0 else text} %"


def format_accuracy(share: float) -> str:
    """A share in percent with two decimals: representations differ in the second."""
    return f"{100 * share:.2f} %"


def format_points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * share:+.2f} points"


def format_money(amount: float) -> str:
    """An amount of money in the study's currency (prices carry none), never with an exponent: `12.30`, `0.0000123`."""
    if amount >= 1:
        return f"{amount:,.2f}"
    if 0 < amount < _LEAST_MONEY:
        return f"< {_LEAST_MONEY:.9f}"
    text = f"{amount:.3g}"
    return f"{amount:.{2 - math.floor(math.log10(amount))}f}" if "e" in text else text


def format_rate(value: float) -> str:
    """Queries per second: whole from a hundred on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def join_names(names: Sequence[str]) -> str:
    """A list in a sentence: `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def format_auc(value: float) -> str:
    """An area under the curve, four digits."""
    return f"{value:.4f}"


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "accuracy": format_accuracy,
    "auc": format_auc,
    "bar": format_percent,
    "bytes": format_bytes,
    "flops": format_count,
    "integer": lambda value: f"{value:,}",
    "joules": format_joules,
    "money": format_money,
    "ms": format_ms,
    "number": format_number,
    "percent": format_percent,
    "provenance": str,
    "range": str,
    "rate": format_rate,
    "text": str,
    "tick": str,
    "words": str,
}
