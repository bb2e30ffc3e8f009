import pytest

from profiles.aggregation import add_latencies, scale_latency, sum_of, weighted_mfu
from profiles.records import Latency
from tests.profiles.rows import latency, row


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


def test_mfu_is_weighted_by_latency_over_what_was_measured() -> None:
    rows = [row(mfu=0.5, warm=latency(1.0)), row(mfu=0.1, warm=latency(3.0)), row(warm=latency(9.0)), row(mfu=0.9)]
    assert weighted_mfu(rows) == pytest.approx(0.2)
    assert weighted_mfu([row()]) is None
