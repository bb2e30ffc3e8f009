"""Pages about benchmarks, in Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from profiles.units import format_bytes
from tests.benchmarks.machine import BUSY_LOAD

__all__ = ["bullets", "page", "percent", "significant", "table", "with_quartiles"]


def page(title: str, report: Mapping[str, Any], blocks: Iterable[str]) -> str:
    """The whole page: what ran, where and when, then the blocks."""
    options = " --quick" if report["quick"] else ""
    command = f"`python -m tests.benchmarks.{report['benchmark']}{options}`"
    head = bullets([
        f"command: {command} ({report['seconds']:.0f} s); all of them: `make bench`",
        *_machine_lines(report["machine"]),
    ])  # fmt: skip
    return "\n\n".join([f"# {title}", head, *blocks]) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first column is text, the others numbers."""
    lines = [columns, ("---", *("---:",) * (len(columns) - 1)), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines)


def significant(value: float, digits: int = 3) -> str:
    """A number to so many digits, without an exponent, thousands apart."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.{_decimals(rounded, digits)}f}"


def with_quartiles(spread: Mapping[str, float], scale: float = 1.0) -> str:
    """`median (p25 to p75)`."""
    median, p25, p75 = (significant(spread[name] * scale) for name in ("median", "p25", "p75"))
    return f"{median} ({p25} to {p75})"


def percent(fraction: float) -> str:
    """A fraction in percent."""
    return f"{fraction:.1%}"


def _decimals(value: float, digits: int) -> int:
    if value == 0:
        return 0
    exponent = int(f"{abs(value):e}".partition("e")[2])
    return max(digits - 1 - exponent, 0)


def _machine_lines(machine: Mapping[str, Any]) -> list[str]:
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    before, after = machine["load_before"], machine["load_after"]
    busy = "; **other work ran beside**: absolute times are too long" if max(before, after) > BUSY_LOAD else ""
    return [
        f"machine: {machine['processor']}, {format_bytes(machine['memory_bytes'])}",
        f"load average before and after (the benchmark itself is 1): {before}, {after}{busy}",
        f"software: Python {machine['python']}, {libraries}",
        f"date: {machine['date']}, revision {machine['git_revision'][:12] or 'unknown'}",
    ]
