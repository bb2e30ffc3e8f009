"""How rows and columns are cut: as evenly as whole rows and whole column units allow, the larger parts first."""

from collections.abc import Iterator
from functools import cache

__all__ = ["COLUMN_UNIT", "column_counts", "column_unit", "part_spans", "row_counts"]

# Kernels load four values at once, so that columns are cut between such groups where the dim consists of them.
COLUMN_UNIT = 4


def column_unit(dim: int) -> int:
    """Columns that stay together: `COLUMN_UNIT` where the dim is a multiple of it, else one."""
    return COLUMN_UNIT if dim % COLUMN_UNIT == 0 else 1


def part_spans(size: int, parts: int, unit: int = 1) -> Iterator[tuple[int, int]]:
    """Start and stop of each of `parts` parts of `size`, none empty, cut at multiples of `unit`."""
    small, larger = divmod(size // unit, parts)
    start = 0
    for part in range(parts):
        stop = start + (small + (part < larger)) * unit
        yield start, stop
        start = stop


@cache
def column_counts(dim: int) -> tuple[int, ...]:
    """Numbers of column parts (from 2) worth trying: the least for each width that the widest part can have.

    Every divisor of the dim's units is among them; the others leave narrower parts at the end.
    """
    units = dim // column_unit(dim)
    least: dict[int, int] = {}
    for parts in range(2, units + 1):
        least.setdefault(-(-units // parts), parts)
    return tuple(sorted(least.values()))


@cache
def row_counts(most: int) -> tuple[int, ...]:
    """Numbers of row parts (from 2) worth trying on up to `most` ranks: `most`, and 2^i or 3 x 2^i below it."""
    steps = [factor << shift for factor in (2, 3) for shift in range(most.bit_length())]
    return tuple(sorted({count for count in (*steps, most) if 1 < count <= most}))
