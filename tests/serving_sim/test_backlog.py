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


def test_an_even_run_has_settled_and_one_with_a_slow_start_has_not() -> None:
    even, slow = Backlog(bin_ms=1.0, devices=1), Backlog(bin_ms=1.0, devices=1)
    for backlog, start_ms in ((even, 1.0), (slow, 100.0)):
        waits = [start_ms if place < 20 else 1.0 for place in range(100)]
        backlog.add(chunk_of([float(i) for i in range(100)], waits, [0] * 100), 100, np.zeros(1, dtype=np.int64))
    assert slow.settling_share() == 0.2
    assert even.settling_share() == 0.0
    assert Backlog(bin_ms=1.0, devices=1).settling_share() == 0.0
