import pytest

from planner.cost_model.noise import paired_floor
from profiles.errors import MeasurementError
from profiles.sweep_options import SweepOptions
from profiles.visits import Sample, Visit

SOURCE = "alternate visits of the same sweep"


def visit(component: str, minute: int, latency_ms: float) -> Visit:
    sample = Sample(latency_ms=latency_ms, wall_ms=latency_ms, cpu_ms=latency_ms)
    return Visit(content_hash=component, timestamp=f"2026-01-01T00:{minute:02}", warm=(sample, sample))


def test_alternate_visits_in_the_order_of_time_are_held_against_each_other() -> None:
    visits = [visit("a", 3, 1.1), visit("a", 0, 1.0), visit("a", 2, 1.0), visit("a", 1, 1.1), visit("b", 0, 2.0)]
    floor = paired_floor(visits, SweepOptions())
    assert (floor.rows, floor.source) == (1, SOURCE)
    assert floor.median == floor.mean == pytest.approx(0.1)


def test_each_half_is_labelled_as_the_sweep_would_have() -> None:
    even, odd = (1.0, 5.0, 1.0, 0.5), (1.2, 3.0, 1.2, 0.5)
    visits = [visit("a", 2 * i + half, one[i]) for half, one in enumerate((even, odd)) for i in range(4)]
    floor = paired_floor(visits, SweepOptions(agreement=0.05))
    assert floor.median == pytest.approx(0.2)


def test_single_visits_tell_nothing() -> None:
    with pytest.raises(MeasurementError, match="none of 2 components was visited twice"):
        paired_floor([visit("a", 0, 1.0), visit("b", 0, 1.0)], SweepOptions())
