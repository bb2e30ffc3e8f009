import pytest

from profiles.profilers.protocol import Figure
from profiles.records import Latency
from profiles.walk.aggregation import add_figures, add_latencies, max_of, scale_latency, sum_of
from tests.profiles.rows import latency


def test_latencies_add_up() -> None:
    total = add_latencies([latency(1.0), None, latency(3.0)])
    assert total is not None
    assert (total.median_ms, total.cpu_ms, total.n, total.visits) == (4.0, 4.0, 9, 3)
    assert total.iqr_ms == pytest.approx(0.8)


def test_nothing_adds_up_to_nothing() -> None:
    assert add_latencies([None]) is None
    assert sum_of([None]) is None


def test_an_unknown_cpu_time_makes_the_sum_unknown() -> None:
    silent = Latency(p25_ms=1, median_ms=1, iqr_ms=0, n=1, visits=3, wall_over_cpu=1.2)
    total = add_latencies([latency(1.0), silent])
    assert total is not None
    assert total.cpu_ms is None
    assert total.wall_over_cpu == 1.2


def test_equal_calls_scale() -> None:
    assert scale_latency(latency(2.0), 3) == latency(2.0 * 3)
    assert scale_latency(Latency(p25_ms=1, median_ms=1, iqr_ms=0, n=1, visits=3), 2).cpu_ms is None


def test_sums_skip_what_is_not_known() -> None:
    assert sum_of([1.0, None, 2.0]) == 3.0


def test_the_greatest_of_what_is_known_is_a_lower_bound() -> None:
    assert max_of([3, None, 5]) == 5
    assert max_of([None]) is None


def test_figures_add_up_as_they_say() -> None:
    figures = [Figure(name="a", title="A", aggregation="sum"), Figure(name="b", title="B", aggregation="max")]
    children: list[dict[str, float | None]] = [{"a": 1.0, "b": 2.0, "c": 9.0}, {"a": 3.0, "b": None}]
    assert add_figures(children, [*figures, Figure(name="c", title="C")]) == {"a": 4.0, "b": 2.0}
