import math

import pytest

from planner.report.blocks import CellKind
from planner.report.cells import (
    format_accuracy,
    format_money,
    format_number,
    format_percent,
    format_points,
    format_value,
)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "ms", "–"),
        (math.nan, "ms", "–"),
        (0.87, "ms", "870 µs"),
        (8_000_000, "bytes", "8 MB"),
        (1.19e9, "flops", "1.19 G"),
        (120_000, "integer", "120,000"),
        (0.72841, "auc", "0.7284"),
        (True, "tick", "yes"),
        (1830.4, "rate", "1,830"),
        (4.25, "rate", "4.25"),
        ("a", "text", "a"),
    ],
)
def test_a_cell_reads_by_its_kind(value: object, kind: CellKind, text: str) -> None:
    assert format_value(value, kind) == text


def test_a_share_near_the_whole_is_not_rounded_up_to_it() -> None:
    assert format_percent(0.9996) == "99.96 %"
    assert format_percent(0.999999) == "> 99.99 %"
    assert format_percent(1.0) == "100.0 %"


def test_a_share_near_nothing_is_not_rounded_down_to_it() -> None:
    assert format_percent(0.00001) == "< 0.01 %"
    assert format_percent(0.0) == "0 %"


def test_accuracies_show_the_digit_in_which_representations_differ() -> None:
    assert format_accuracy(0.78821) != format_accuracy(0.78844)


def test_a_difference_has_its_sign() -> None:
    assert (format_points(0.0016), format_points(-0.0016)) == ("+0.16 points", "-0.16 points")


def test_small_and_large_numbers_keep_their_digits() -> None:
    assert [format_number(value) for value in (1.2e-7, 0.0123, 3.1, 12_400)] == ["1.20e-07", "0.0123", "3.1", "12,400"]


def test_money_has_cents_from_one_on() -> None:
    assert (format_money(1234.5), format_money(0.00282)) == ("1,234.50", "0.00282")


def test_small_money_has_no_exponent() -> None:
    assert (format_money(1.234e-5), format_money(9.999e-5)) == ("0.0000123", "0.0001")
    assert (format_money(1e-12), format_money(0)) == ("< 0.000000001", "0")
