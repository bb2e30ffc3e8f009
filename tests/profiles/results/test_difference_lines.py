import pytest

from profiles.analyses.diff import ProfileDiff, diff_profiles
from profiles.analyses.regression import ChangedModule
from profiles.results.difference_lines import difference_lines, format_change, module_text
from tests.profiles.analyses.test_diff import SIX, profile


def found(**times_ms: float) -> ProfileDiff:
    return diff_profiles(profile(SIX), profile({**SIX, **times_ms}, name="new"))


def test_totals_then_modules_then_noise() -> None:
    lines = difference_lines(found(b=3.0, c=3.05))
    assert lines[:2] == ["net → new", "no module was made otherwise"]
    assert lines[3] == "latency in the model: 21 ms → 22.1 ms, +1.05 ms (+5.0%)"
    assert lines[4].split() == ["b", "+1", "ms", "██████████", "95%", "2", "ms", "→", "3", "ms"]
    assert lines[5] == "  1 module within the noise, together +50 µs"
    assert lines[7].startswith("FLOPs: 21 GFLOP")
    assert lines[-1].startswith("note: not compared")


def test_only_the_greatest_are_listed_and_the_rest_is_summed() -> None:
    lines = difference_lines(found(a=5.0, b=4.0, c=4.0), most=1)
    assert "  ... 2 more, together +3 ms" in lines


def test_changed_modules_come_first_with_their_effects() -> None:
    changed = ChangedModule(before_path="a", after_path="a", savings={"latency_ms": 1.5, "flops": -2e9})
    without = ChangedModule(before_path=None, after_path="x", savings={"latency_ms": 0.0})
    diff = ProfileDiff(before_name="old", after_name="new", metrics=(), changed=(changed, without))
    assert difference_lines(diff) == [
        "old → new",
        "changed: a: latency in the model +1.5 ms, FLOPs −2 GFLOP",
        "changed: x (new): all totals are equal",
    ]


def test_a_total_within_the_noise_says_so() -> None:
    assert "within the noise" in difference_lines(found(c=3.05))[3]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("a", "a", "a"),
        ("", "", "the model itself"),
        (None, "a", "a (new)"),
        ("a", None, "a (removed)"),
        ("a", "b", "b (was a)"),
        ("", "b", "b (was the model itself)"),
    ],
)
def test_a_module_is_called_by_where_it_stands(before: str | None, after: str | None, text: str) -> None:
    assert module_text(before, after) == text


def test_changes_have_a_sign_and_a_unit() -> None:
    assert format_change("latency_ms", -0.5) == "−500 µs"
    assert format_change("parameter_bytes", 2e6) == "+2 MB"
    assert format_change("flops", 0.0) == "0 FLOP"
    assert format_change("other", 12.0) == "+12"
