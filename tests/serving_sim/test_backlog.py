import numpy as np
import pytest

from serving_sim.backlog import MOST_BINS, Backlog
from serving_sim.kernels import Chunk
from serving_sim.workload import empty_chunk


def chunk_of(arrival_ms: list[float], wait_ms: list[float], path: list[int]) -> Chunk:
    chunk = empty_chunk(len(path), 0)
    chunk.arrival_ms_N[:], chunk.path_N[:] = arrival_ms, path
    chunk.start_ms_N[:] = chunk.arrival_ms_N + wait_ms
    chunk.service_ms_N[:] = 1.0
    return chunk


def test_bins_widen_until_the_run_fits_and_lose_nothing() -> None:
    backlog, device_P = Backlog(bin_ms=1.0, devices=1), np.zeros(1, dtype=np.int64)
    backlog.add(chunk_of([0.5, 1.5], [2.0, 4.0], [0, 0]), 2, device_P)
    backlog.add(chunk_of([MOST_BINS * 3.0], [6.0], [0]), 1, device_P)
    queue = backlog.over_time(("d",), MOST_BINS * 3.0)
    assert queue.bin_s == pytest.approx(0.004)
    assert (queue.mean_backlog_ms["d"][0], queue.max_backlog_ms["d"][0]) == (3.0, 4.0)
    assert queue.mean_waiting["d"][0] == pytest.approx(6.0 / 4)
    assert queue.mean_backlog_ms["d"][-1] == 6.0
    assert len(queue.mean_backlog_ms["d"]) == MOST_BINS * 3 // 4 + 1


def test_refused_queries_wait_nowhere() -> None:
    backlog = Backlog(bin_ms=1.0, devices=1)
    backlog.add(chunk_of([0.0, 0.0], [5.0, 0.0], [0, -1]), 2, np.zeros(1, dtype=np.int64))
    assert backlog.count_TD.sum() == 1


@pytest.mark.parametrize(("start_ms", "cut"), [(1.0, 0.0), (100.0, 0.2)])
def test_a_slow_start_is_cut_and_an_even_one_is_not(start_ms: float, cut: float) -> None:
    backlog = Backlog(bin_ms=1.0, devices=1)
    waits = [start_ms if place < 1000 else 1.0 for place in range(5000)]
    arrivals = [place / 50 for place in range(5000)]
    backlog.add(chunk_of(arrivals, waits, [0] * 5000), 5000, np.zeros(1, dtype=np.int64))
    assert backlog.settling_share() == cut


def test_a_short_run_is_taken_as_settled() -> None:
    backlog = Backlog(bin_ms=1.0, devices=1)
    assert backlog.settling_share() == 0.0
    backlog.add(chunk_of([0.0, 50.0, 100.0], [9.0, 0.0, 0.0], [0, 0, 0]), 3, np.zeros(1, dtype=np.int64))
    assert backlog.settling_share() == 0.0
