"""What no policy can beat where load comes in waves: the fluid bound with prices that change over time.

Let price_d(t) >= 0 be any price of device d's time at t. A query that is served within its SLA occupies a server of its
path's device for its service time, between its arrival a and its deadline a + SLA. So

1. over that time the price integrates to at least service x min of price_d over [a, a + SLA];
2. all occupations together integrate to at most the sum over devices of the integral of price_d x (servers that are
   up), as no more queries than servers are served at once;
3. its correct predictions are therefore at most max(0, max over paths of (correct - service x that minimum)) plus what
   it takes of the sum in 2; a query that is late, refused or closed to all paths earns nothing, and 0 is no less.

Summed over queries: correct in the SLA <= sum of 3 + integral of 2. Prices are constant over windows here; a query that
meets several pays the lowest. Each class has its own SLA. While a device is down its time is not counted in 2. One
price for all time is the fluid bound of `fluid_bound`; nothing is assumed of the order of service, so that it holds for
any policy that serves a query whole. For those that join or split queries, `best_per_sample` gives the least time that
a query's samples can take, which keeps inequality 1.

Any prices do, so the search (mirror descent, from wide windows to narrow ones) need not converge.

Shape suffixes as in `kernels.arrays`; W windows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from serving_sim.kernels import Chunk, Floats, PathArrays, dual_in_windows

__all__ = ["Downtime", "best_per_sample", "window_bound"]

_STEP, _SLOWDOWN, _MOST_EXCESS, _LOWEST_SHARE = 0.7, 0.15, 1.5, 1e-5
# Narrower windows than this many for each query are left out.
_MOST_WINDOWS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Downtime:
    """A device whose servers are all down for some time."""

    device: int
    start_ms: float
    end_ms: float


def best_per_sample(service_ms_SP: Floats, largest_batch: int, *, splits: bool) -> Floats:
    """The least device time that a query's samples can take where queries are joined, and split where `splits` says so.

    Of a batch of m samples, n take at least n x service(m) / m; m runs from n (from 1 where a query is split, since its
    parts may be served anywhere) to `largest_batch`. Paths in which a query's parts all meet the SLA at all are those
    where the result over n samples, at one sample, meets it. Row 0 is no query.
    """
    sizes = np.arange(1, len(service_ms_SP))
    per_sample_SP = service_ms_SP[1:] / sizes[:, None]
    largest = min(largest_batch, len(sizes))
    best_SP = np.empty_like(service_ms_SP)
    best_SP[0] = service_ms_SP[0]
    running_SP = np.minimum.accumulate(per_sample_SP[:largest][::-1], axis=0)[::-1]
    joined_SP = np.vstack([running_SP, per_sample_SP[largest:]])
    best_SP[1:] = sizes[:, None] * (np.minimum(per_sample_SP.min(axis=0), joined_SP) if splits else joined_SP)
    return best_SP


def window_bound(
    chunk: Chunk,
    skip: int,
    paths: PathArrays,
    sla_ms_C: Floats,
    *,
    windows_sla: Sequence[float] = (64.0, 8.0, 1.0, 0.25),
    steps: int = 60,
    down: Sequence[Downtime] = (),
) -> float:
    """The most correct predictions within the SLA that any policy could serve of the chunk's queries after the first
    `skip`, from their arrivals, sizes, classes and service factors. `windows_sla` are widths of windows, each search
    starting where the wider one ended, in units of the loosest SLA.
    """
    longest_ms, best = float(sla_ms_C.max()), np.inf
    span_ms = float(chunk.arrival_ms_N[-1] - chunk.arrival_ms_N[skip]) + longest_ms
    highest_D = _highest_prices(paths, longest_ms)
    prices_WD, width_ms = 0.01 * highest_D[None, :], span_ms
    narrowest_ms = span_ms / (_MOST_WINDOWS * (len(chunk.size_N) - skip))
    for window_ms in dict.fromkeys(max(width * longest_ms, narrowest_ms) for width in windows_sla):
        starts_W = np.arange(int(span_ms / window_ms) + 1) * window_ms
        wider_W = np.minimum((starts_W / width_ms).astype(int), len(prices_WD) - 1)
        free_ms_WD = _free_ms(chunk.arrival_ms_N[skip] + starts_W, window_ms, span_ms, paths, down)
        waves = _Waves(
            chunk=chunk, skip=skip, paths=paths, sla_ms_C=sla_ms_C, window_ms=window_ms, free_ms_WD=free_ms_WD
        )
        prices_WD, value = _descend(waves, prices_WD[wider_W], highest_D, steps)
        best, width_ms = min(best, value), window_ms
    return best


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Waves:
    """A load, and the server time that is free for it in each window."""

    chunk: Chunk
    skip: int
    paths: PathArrays
    sla_ms_C: Floats
    window_ms: float
    free_ms_WD: Floats

    def bound_at(self, prices_WD: Floats, used_ms_WD: Floats) -> float:
        gains = dual_in_windows(
            self.chunk,
            len(self.chunk.size_N),
            self.skip,
            self.window_ms,
            self.sla_ms_C,
            prices_WD,
            self.paths,
            used_ms_WD,
        )
        return gains + float((prices_WD * self.free_ms_WD).sum())


def _descend(waves: _Waves, prices_WD: Floats, highest_D: Floats, steps: int) -> tuple[Floats, float]:
    """The best prices found and their bound: prices rise where more time is wanted than is free, else they fall."""
    used_ms_WD, best, best_WD = np.zeros_like(prices_WD), np.inf, prices_WD
    for step in range(steps):
        value = waves.bound_at(prices_WD, used_ms_WD)
        if value < best:
            best, best_WD = value, prices_WD
        excess_WD = np.minimum(used_ms_WD / np.maximum(waves.free_ms_WD, 1e-9) - 1.0, _MOST_EXCESS)
        prices_WD = prices_WD * np.exp(_STEP / (1 + _SLOWDOWN * step) * excess_WD)
        prices_WD = np.clip(prices_WD, _LOWEST_SHARE * highest_D, highest_D)
    return best_WD, best


def _free_ms(
    starts_ms_W: Floats, window_ms: float, span_ms: float, paths: PathArrays, down: Sequence[Downtime]
) -> Floats:
    """Server time of each device in each window, up to the end of the span, less what is down."""
    ends_ms_W = np.minimum(starts_ms_W + window_ms, starts_ms_W[0] + span_ms)
    free_ms_WD = np.outer(np.maximum(ends_ms_W - starts_ms_W, 0.0), paths.servers_D)
    for time in down:
        lost_ms_W = np.minimum(ends_ms_W, time.end_ms) - np.maximum(starts_ms_W, time.start_ms)
        free_ms_WD[:, time.device] -= np.maximum(lost_ms_W, 0.0) * paths.servers_D[time.device]
    return np.maximum(free_ms_WD, 0.0)


def _highest_prices(paths: PathArrays, sla_ms: float) -> Floats:
    """Per device, the price above which no query of mean service time would pay; 1 where none can go."""
    worth_SP = np.outer(np.arange(1.0, len(paths.service_ms_SP)), paths.accuracy_P)
    service_ms_SP = paths.service_ms_SP[1:]
    highest_D = np.zeros(len(paths.servers_D))
    per_ms_P = np.where(service_ms_SP <= sla_ms, worth_SP / service_ms_SP, 0.0).max(axis=0)
    np.maximum.at(highest_D, paths.device_P, per_ms_P)
    return np.where(highest_D > 0, highest_D, 1.0)
