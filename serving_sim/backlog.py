"""The queue of each device over a run, in at most so many equal bins of time, whatever the run's length.

A bin that would begin after the last one makes all twice as wide: neighbours become one. So the memory is the same for
any number of queries, and the counts are exact.

Shape suffixes: T bins of time, D devices, G groups of bins.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.kernels import Chunk
from serving_sim.kernels.backlog import add_backlog

__all__ = ["MOST_BINS", "Backlog", "QueueOverTime"]

MOST_BINS = 128
_QUERIES_PER_MEAN, _FEWEST_MEANS = 50, 20
_SIGMAS_APART = 3.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueOverTime:
    """Per device and bin of `bin_s` seconds, from the run's start: how long arrivals had to wait, on average and at
    most (ms), and how many waited (time average, by Little's law from the waits of the bin's arrivals).
    """

    bin_s: float
    mean_backlog_ms: dict[str, tuple[float, ...]]
    max_backlog_ms: dict[str, tuple[float, ...]]
    mean_waiting: dict[str, tuple[float, ...]]


@dataclass(kw_only=True, slots=True, eq=False)
class Backlog:
    """What is kept of a run under way; `add` takes each chunk once it is served."""

    bin_ms: float
    devices: int
    count_TD: NDArray[np.int64] = field(init=False)
    wait_ms_TD: Floats = field(init=False)
    most_ms_TD: Floats = field(init=False)
    latency_ms_T: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.count_TD = np.zeros((MOST_BINS, self.devices), dtype=np.int64)
        self.wait_ms_TD = np.zeros((MOST_BINS, self.devices))
        self.most_ms_TD = np.zeros((MOST_BINS, self.devices))
        self.latency_ms_T = np.zeros(MOST_BINS)

    def add(self, chunk: Chunk, count: int, device_P: NDArray[np.int64]) -> None:
        """Add the first `count` queries of a served chunk."""
        while count and chunk.arrival_ms_N[count - 1] >= self.bin_ms * MOST_BINS:
            self._widen()
        add_backlog(
            chunk,
            count,
            self.bin_ms,
            device_P,
            self.count_TD,
            self.wait_ms_TD,
            self.most_ms_TD,
            self.latency_ms_T,
        )

    def over_time(self, names: tuple[str, ...], last_arrival_ms: float) -> QueueOverTime:
        """The bins up to the last arrival."""
        used = min(int(last_arrival_ms / self.bin_ms) + 1, MOST_BINS)
        mean_TD = self.wait_ms_TD[:used] / np.maximum(self.count_TD[:used], 1)
        bins = {
            "mean_backlog_ms": mean_TD,
            "max_backlog_ms": self.most_ms_TD[:used],
            "mean_waiting": self.wait_ms_TD[:used] / self.bin_ms,
        }
        columns = {
            key: {name: tuple(value_TD[:, place].tolist()) for place, name in enumerate(names)}
            for key, value_TD in bins.items()
        }
        return QueueOverTime(bin_s=self.bin_ms / MS_PER_S, **columns)

    def settling_share(self) -> float:
        """The share of the run that MSER would cut off its start (White, 1997), from the bins' mean latencies.

        Of all cuts within the first half, the one with the least squared standard error of the mean of the rest, if
        what it cuts is apart by three standard deviations of the rest. Bins are taken together until they hold enough
        queries on average; a run too short for that is taken as settled.
        """
        count_T = self.count_TD.sum(axis=1)
        used = int(np.flatnonzero(count_T)[-1]) + 1 if count_T.any() else 0
        together = max(1, math.ceil(_QUERIES_PER_MEAN * used / max(int(count_T.sum()), 1)))
        if used // together < _FEWEST_MEANS:
            return 0.0
        starts = np.arange(0, used, together)
        count_G, latency_ms_G = np.add.reduceat(count_T, starts), np.add.reduceat(self.latency_ms_T, starts)
        mean_G = latency_ms_G[count_G > 0] / count_G[count_G > 0]
        cut = int(np.argmin(_squared_errors(mean_G)[: len(mean_G) // 2]))
        is_apart = cut and abs(mean_G[:cut].mean() - mean_G[cut:].mean()) > _SIGMAS_APART * mean_G[cut:].std()
        return cut / len(mean_G) if is_apart else 0.0

    def _widen(self) -> None:
        half = MOST_BINS // 2
        for name in ("count_TD", "wait_ms_TD", "latency_ms_T"):
            values = getattr(self, name)
            values[:half] = values[0::2] + values[1::2]
            values[half:] = 0
        self.most_ms_TD[:half] = np.maximum(self.most_ms_TD[0::2], self.most_ms_TD[1::2])
        self.most_ms_TD[half:] = 0.0
        self.bin_ms *= 2


def _squared_errors(mean_G: Floats) -> Floats:
    """For each cut, the squared standard error of the mean of the values from there on."""
    apart_G = (mean_G - mean_G.mean())[::-1]
    left_G = np.arange(1.0, len(apart_G) + 1)
    variance_G = np.cumsum(apart_G**2) / left_G - (np.cumsum(apart_G) / left_G) ** 2
    errors_G: Floats = (variance_G / left_G)[::-1]
    return errors_G
