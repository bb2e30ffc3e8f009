import pytest

from profiles.analyses.diff import MetricDiff, diff_profiles
from profiles.charts.difference import difference_chart, difference_frame
from tests.profiles.analyses.test_diff import SIX, profile


def metric(**times_ms: float) -> MetricDiff:
    return diff_profiles(profile(SIX), profile({**SIX, **times_ms})).metric("latency_ms")


def test_bars_are_what_differs_and_one_is_the_noise() -> None:
    frame = difference_frame(metric(a=2.0, b=1.5, c=3.05, d=4.02))
    assert frame["module"].to_list() == ["a", "b", "2 within the noise"]
    assert frame["kind"].to_list() == ["more", "less", "within the noise"]
    assert frame["change"].to_list() == pytest.approx([1.0, -0.5, 0.07])


def test_the_bars_sum_to_the_difference_whatever_is_left_out() -> None:
    found = metric(a=2.0, b=3.5, c=1.0, d=4.02)
    frame = difference_frame(found, most=1)
    assert frame["module"].to_list() == ["c", "2 more modules", "1 within the noise"]
    assert frame["change"].sum() == pytest.approx(found.change)


def test_more_and_less_differ_for_colour_blind_readers() -> None:
    spec = difference_chart(metric(a=2.0)).to_dict()
    assert spec["encoding"]["color"]["scale"]["range"] == ["#D55E00", "#0072B2", "#B4BEC6"]
    assert spec["encoding"]["y"]["sort"] == ["a"]
