import pytest

from profiles.analyses.hotspots import rank_hotspots
from profiles.analyses.roofline import Roofline
from profiles.errors import InputError
from profiles.records import ComponentProfile
from tests.profiles.rows import latency, row

ROOF = Roofline(flops_per_s=1e9, bytes_per_s=1e9)


def module(
    path: str, ms: float, flops: float | None = None, moved: float | None = None, kind: str = "leaf"
) -> ComponentProfile:
    return row(path=path, kind=kind, in_situ=latency(ms), warm=latency(ms), flops=flops, bytes_moved=moved)


# Two that take much longer than their work would, a large one that is near its roofline, and a tiny bad one.
ROWS = [
    module("", 20.0, 9.1e6, kind="container"),
    module("good", 9.0, 8e6, 1e3),
    module("slow", 6.0, 1e6, 1e3),
    module("gather", 4.0, 0.0, 4e5),
    module("tiny", 0.1, 1e3, 1e3),
]


def test_two_planted_slow_modules_rank_first() -> None:
    spots = rank_hotspots(ROWS, ROOF)
    assert [spot.path for spot in spots] == ["slow", "gather", "good", "", "tiny"]
    slow = spots[0]
    assert (slow.share, slow.attainable_ms) == (0.3, 1.0)
    assert slow.achieved == pytest.approx(1 / 6)
    assert slow.score == pytest.approx(0.3 * 5 / 6)


def test_a_container_is_ranked_by_what_it_does_itself() -> None:
    (own,) = [spot for spot in rank_hotspots(ROWS, ROOF) if not spot.path]
    assert own.latency_ms == pytest.approx(0.9)
    assert own.attainable_ms == pytest.approx(9.1 - 8 - 1 - 0.001)


def test_where_no_work_is_known_all_the_time_is_above_the_roofline() -> None:
    (spot, *_) = rank_hotspots([module("", 2.0, kind="container"), module("odd", 2.0)], ROOF)
    assert (spot.path, spot.achieved, spot.score) == ("odd", None, 1.0)


def test_without_a_roofline_the_best_module_sets_it() -> None:
    found = {spot.path: spot for spot in rank_hotspots(ROWS)}
    assert found["good"].achieved == pytest.approx(1.0)
    assert found["good"].score == pytest.approx(0.0)


def test_a_known_device_has_its_published_roofline() -> None:
    (spot,) = rank_hotspots([row(path="", device="v100", in_situ=latency(1.0), flops=7e9, kind="leaf")])
    assert spot.achieved == pytest.approx(0.5, rel=0.2)


def test_a_profile_without_times_has_no_hotspots() -> None:
    with pytest.raises(InputError, match="no times of modules"):
        rank_hotspots([row(path="", flops=1.0)])
