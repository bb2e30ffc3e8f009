"""Units and their conversions: the only module that knows what a prefix means.

Decimal prefixes (kB, MB, GB, TB) are powers of 1000, binary ones (KiB, MiB, GiB, TiB) powers of 1024.
Names elsewhere carry their unit: `latency_ms`, `parameter_bytes`, `bandwidth_bytes_per_s`.
"""

import math
import re

from profiles.errors import InputError

__all__ = [
    "BYTES_PER_UNIT",
    "MS_PER_S",
    "NS_PER_MS",
    "SECONDS_PER_HOUR",
    "format_bytes",
    "format_count",
    "format_items",
    "format_joules",
    "format_ms",
    "parse_bytes",
]

MS_PER_S = 1e3
NS_PER_MS = 1e6
SECONDS_PER_HOUR = 3600.0
BYTES_PER_UNIT = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_LATENCY_UNITS = {"ns": 1 / NS_PER_MS, "µs": 1e-3, "ms": 1.0, "s": MS_PER_S}
_LEAST_SHOWN_MS = 0.01 / NS_PER_MS
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*")


def parse_bytes(value: str | float) -> int:
    """Bytes of `"8 MB"`, `"1.5 GiB"`, `"512"` or a plain number.

    Raises:
        InputError: the text is no amount, the unit is unknown, or the amount is negative or not finite.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        # An integer that no float holds is as good as infinite.
        amount, unit = (float(value) if abs(value) < 1e300 else math.inf), "B"
    elif isinstance(value, str) and (match := _AMOUNT.fullmatch(value)):
        amount, unit = float(match[1]), match[2] or "B"
    else:
        raise InputError(f"must be an amount of bytes such as '8 MB' or '1.5 GiB', but got {value!r}")
    if unit not in BYTES_PER_UNIT:
        raise InputError(f"unknown unit {unit!r} in {value!r}; known: {', '.join(BYTES_PER_UNIT)}")
    if not math.isfinite(amount) or amount < 0:
        raise InputError(f"must be a finite amount of bytes >= 0, but got {value!r}")
    return round(amount * BYTES_PER_UNIT[unit])


def format_bytes(count: float) -> str:
    """A byte count with three significant digits and a decimal prefix: `12.6 GB`."""
    return _scaled(count, ("B", "kB", "MB", "GB", "TB"))


def format_count(count: float, unit: str = "") -> str:
    """A count with three significant digits and a decimal prefix: `1.19 GFLOP` for unit `FLOP`."""
    return _scaled(count, ("", "k", "M", "G", "T", "P"), unit)


def format_items(count: int, noun: str) -> str:
    """How many of something, a noun with a regular plural: `1 query`, `2,000 queries`, `3 times`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {f'{noun[:-1]}ies' if noun[-1] == 'y' else f'{noun}s'}"


def format_ms(latency_ms: float) -> str:
    """A latency with three significant digits, in the unit that reads best: `51.1 ns`, `870 µs`, `2.41 ms`, `1.2 s`.

    What is shorter than a hundredth of a nanosecond is rounded to that; NaN, a latency that there is not, is `-`.
    """
    if math.isnan(latency_ms):
        return "-"
    if abs(latency_ms) < _LEAST_SHOWN_MS / 2:
        return "0 µs"
    for unit, ms_per_unit in _LATENCY_UNITS.items():
        amount = latency_ms / ms_per_unit
        if abs(float(f"{amount:.3g}")) < 1000:
            return f"{round(amount, 2):.3g} {unit}"
    return f"{latency_ms / MS_PER_S:,.0f} s"


def format_joules(energy_j: float) -> str:
    """An energy with three significant digits and the prefix that reads best: `12 µJ`, `3.4 mJ`, `1.2 kJ`."""
    return _scaled(energy_j * 1e9, ("nJ", "µJ", "mJ", "J", "kJ", "MJ"))


def _scaled(value: float, prefixes: tuple[str, ...], unit: str = "") -> str:
    step = 0
    while abs(float(f"{value:.3g}")) >= 1000 and step < len(prefixes) - 1:
        value, step = value / 1000, step + 1
    digits = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {prefixes[step]}{unit}".rstrip()
