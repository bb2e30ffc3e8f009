"""Loads whose rate changes: a time change that turns work at the mean rate into clock time, exactly.

The rate is the mean times a profile: bursts of a two-state Markov chain, spikes and a sine wave over the day. With
W(t), the integral of the profile, queries that come at w1, w2, ... under a constant rate come at t with W(t) = w under
the profile (Çinlar, Introduction to Stochastic Processes, 1975, section 4.7). Nothing is thinned, so that no draw is
lost and the same gaps serve every profile and rate.

Shape suffixes: N queries, B stretches of constant burst and spike.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from serving_sim.plan import Arrivals, Diurnal

__all__ = ["RateClock", "is_steady"]

Floats = NDArray[np.float64]

_STRETCHES = 512
_MOST_STEPS = 80
_TOLERANCE = 1e-12


def is_steady(arrivals: Arrivals) -> bool:
    """Whether the rate is the same at all times, so that gaps scale with the QPS."""
    return arrivals.process != "mmpp" and arrivals.diurnal is None and not arrivals.spikes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Block:
    """Stretches side by side: where each begins, its factor on the rate, and the work done by then."""

    start_s_B: Floats
    factor_B: Floats
    work_s_B: Floats
    end_work_s: float


class RateClock:
    """The clock of one run: `times_s` takes work, never falling from call to call, and gives the time it is done."""

    def __init__(self, arrivals: Arrivals, rng: np.random.Generator) -> None:
        self._diurnal = arrivals.diurnal
        self._blocks = self._all_blocks(arrivals, rng)
        self._block = next(self._blocks)

    def times_s(self, work_s_N: Floats) -> Floats:
        """Clock time (s) at which work (seconds of the mean rate) is done."""
        time_s_N = np.empty_like(work_s_N)
        done = 0
        while done < len(work_s_N):
            stop = int(np.searchsorted(work_s_N, self._block.end_work_s))
            if stop > done:
                time_s_N[done:stop] = self._within(work_s_N[done:stop])
                done = stop
            if done < len(work_s_N):
                self._block = next(self._blocks)
        return time_s_N

    def _within(self, work_s_N: Floats) -> Floats:
        block = self._block
        place_N = np.searchsorted(block.work_s_B, work_s_N, side="right") - 1
        start_s_N = block.start_s_B[place_N]
        wave_s_N = (work_s_N - block.work_s_B[place_N]) / block.factor_B[place_N]
        if self._diurnal is None:
            return start_s_N + wave_s_N
        return _clock_of_wave(_wave(start_s_N, self._diurnal) + wave_s_N, self._diurnal)

    def _all_blocks(self, arrivals: Arrivals, rng: np.random.Generator) -> Iterator[_Block]:
        work_s = 0.0
        for burst_s_B, burst_factor_B in _bursts(arrivals, rng):
            edge_s_B, factor_B = _with_spikes(burst_s_B, burst_factor_B, arrivals)
            wave_s_B = edge_s_B if self._diurnal is None else _wave(edge_s_B, self._diurnal)
            reached_B = work_s + np.concatenate(([0.0], np.cumsum(np.diff(wave_s_B) * factor_B)))
            work_s = float(reached_B[-1])
            yield _Block(start_s_B=edge_s_B[:-1], factor_B=factor_B, work_s_B=reached_B[:-1], end_work_s=work_s)


def _bursts(arrivals: Arrivals, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Edges (s) and factors of stretches, without end: one to infinity, or calm and burst in turns."""
    if arrivals.process != "mmpp":
        yield np.array([0.0, np.inf]), np.ones(1)
        return
    share, factor = arrivals.burst_share, arrivals.burst_factor
    calm = 1 / (1 + share * (factor - 1))
    mean_s = np.array([arrivals.mean_burst_s * (1 - share) / share, arrivals.mean_burst_s])
    first, now_s = int(rng.random() < share), 0.0
    state_B = (first + np.arange(_STRETCHES)) % 2
    factor_B = np.where(state_B == 1, factor * calm, calm)
    for _ in count():
        edge_s_B = now_s + np.concatenate(([0.0], np.cumsum(rng.standard_exponential(_STRETCHES) * mean_s[state_B])))
        now_s = float(edge_s_B[-1])
        yield edge_s_B, factor_B


def _with_spikes(edge_s_B: Floats, factor_B: Floats, arrivals: Arrivals) -> tuple[Floats, Floats]:
    """The stretches, cut at the ends of spikes and multiplied by their factors."""
    ends = [end for spike in arrivals.spikes for end in (spike.start_s, spike.start_s + spike.duration_s)]
    inside = [end for end in ends if edge_s_B[0] < end < edge_s_B[-1]]
    cut_s_B = np.union1d(edge_s_B, inside)
    cut_B = factor_B[np.searchsorted(edge_s_B, cut_s_B[:-1], side="right") - 1].copy()
    for spike in arrivals.spikes:
        cut_B[(cut_s_B[:-1] >= spike.start_s) & (cut_s_B[:-1] < spike.start_s + spike.duration_s)] *= spike.factor
    return cut_s_B, cut_B


def _wave(time_s_N: Floats, diurnal: Diurnal) -> Floats:
    """The integral of `1 + amplitude x sin(2 pi t / period)` from 0 to each time."""
    turn = 2 * math.pi / diurnal.period_s
    # An infinite time has infinitely much before it; its cosine is no number.
    cosine_N = np.cos(np.where(np.isfinite(time_s_N), time_s_N, 0.0) * turn)
    return time_s_N + diurnal.amplitude / turn * (1 - cosine_N)


def _clock_of_wave(wave_s_N: Floats, diurnal: Diurnal) -> Floats:
    """The inverse of `_wave`: Newton's method, kept in the bracket by halving; each element stops by itself."""
    turn = 2 * math.pi / diurnal.period_s
    low_N, high_N = wave_s_N - 2 * diurnal.amplitude / turn, wave_s_N.copy()
    time_N = wave_s_N - diurnal.amplitude / turn
    left_N = np.arange(len(wave_s_N))
    for _ in range(_MOST_STEPS):
        time = time_N[left_N]
        excess = _wave(time, diurnal) - wave_s_N[left_N]
        high_N[left_N] = np.where(excess > 0, time, high_N[left_N])
        low_N[left_N] = np.where(excess > 0, low_N[left_N], time)
        better = time - excess / (1 + diurnal.amplitude * np.sin(time * turn))
        is_out = (better < low_N[left_N]) | (better > high_N[left_N])
        better = np.where(is_out, (low_N[left_N] + high_N[left_N]) / 2, better)
        time_N[left_N] = better
        left_N = left_N[np.abs(better - time) > _TOLERANCE * np.maximum(diurnal.period_s, np.abs(time))]
        if not left_N.size:
            break
    return time_N
