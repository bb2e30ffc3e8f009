import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError
from profiles.units import (
    BYTES_PER_UNIT,
    format_bytes,
    format_count,
    format_items,
    format_joules,
    format_ms,
    parse_bytes,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("8 MB", 8_000_000), ("1.5 GiB", 1_610_612_736), ("512", 512), (" 2kB ", 2000), ("1e3 B", 1000), (7, 7), (2.5, 2)],
)
def test_amounts_of_bytes(text: str, expected: Any) -> None:
    assert parse_bytes(text) == expected


@pytest.mark.parametrize("bad", ["", "MB", "-1 MB", "8 XB", "1..2 MB", -1, math.inf, math.nan, True, "1e999", None, []])
def test_what_is_no_amount_of_bytes_is_refused(bad: Any) -> None:
    with pytest.raises(InputError):
        parse_bytes(bad)


@given(st.integers(0, 10**15), st.sampled_from(sorted(BYTES_PER_UNIT)))
def test_a_whole_number_of_units_is_exact(count: int, unit: str) -> None:
    assert parse_bytes(f"{count} {unit}") == pytest.approx(count * BYTES_PER_UNIT[unit], rel=1e-15)


@given(st.integers(0, 10**15))
def test_formatting_keeps_three_digits(count: int) -> None:
    assert parse_bytes(format_bytes(count)) == pytest.approx(count, rel=5e-3)


def test_counts_carry_prefix_and_unit() -> None:
    assert format_count(1_192_919_040, "FLOP") == "1.19 GFLOP"
    assert format_count(999.9) == "1 k"
    assert format_count(12) == "12"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0.87, "870 µs"),
        (2.414, "2.41 ms"),
        (1200, "1.2 s"),
        (0, "0 µs"),
        (5.11e-5, "51.1 ns"),
        (-5.11e-8, "-0.05 ns"),
        (1e-15, "0 µs"),
        (0.9996, "1 ms"),
        (999.6, "1 s"),
        (4_321_000, "4,321 s"),
        (math.inf, "inf s"),
        (math.nan, "-"),
    ],
)
def test_latencies_read_in_their_best_unit(ms: float, text: str) -> None:
    assert format_ms(ms) == text


@pytest.mark.parametrize(
    ("energy_j", "text"), [(1.2e-5, "12 µJ"), (3.4e-3, "3.4 mJ"), (65.0, "65 J"), (1234.0, "1.23 kJ"), (0.0, "0 nJ")]
)
def test_energies_have_the_unit_that_reads_best(energy_j: float, text: str) -> None:
    assert format_joules(energy_j) == text


def test_items_are_counted_in_their_number() -> None:
    assert [format_items(count, "time") for count in (0, 1, 2000)] == ["0 times", "1 time", "2,000 times"]
    assert [format_items(count, "query") for count in (1, 3)] == ["1 query", "3 queries"]
