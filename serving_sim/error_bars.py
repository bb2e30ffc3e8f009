"""What is uncertain about the percentiles and the violation share of one run.

By the queries drawn: sectioning (S. Asmussen and P. W. Glynn, Stochastic Simulation, 2007, III.5; M. K. Nakayama, ACM
TOMACS 24(4), 2014). The first of the `n` counted queries are cut into `B` = 10 sections of `m` that follow each other.
Their shares of late queries spread about that of the run, and the 95 % interval is that share plus and minus
`t_{B-1} S sqrt(m / n)`, where `S^2 = sum (share_b - share)^2 / (B - 1)`. Queries that wait in one queue are late
together; a section that outlasts such spells has them in its share. The interval of a percentile is had the same way
from the shares of queries within it, and from these shares back to latencies by the distribution of the run.

By the latency tables: the same queries on tables that are all 1.96 standard errors slower, and faster.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from serving_sim.histogram import PERCENTILES, bin_edges_ms
from serving_sim.student import t_95

__all__ = ["LATE", "ErrorBar", "Figures", "no_bars", "run_bars", "sections_of", "with_table_ends"]

LATE = "sla_violation_share"
_MOST_SECTIONS, _FEWEST_SECTIONS = 10, 5
# Whole blocks of the kernel that serves many plans together, so that its sums are the same with and without sections.
_SECTION_UNIT = 128
# How many queries of a section have to be on the rarer side of a percentile; and of the whole run, late and in time.
_LEAST_BEYOND, _LEAST_LATE = 16, 20

Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorBar:
    """The 95 % intervals of a figure, in its unit: by the queries drawn, and by the error bars of the latency tables.

    An end is None where there is none: too few queries, a run whose backlog grows, tables without error bars.
    """

    ci_low: float | None = None
    ci_high: float | None = None
    table_low: float | None = None
    table_high: float | None = None


class Figures(Protocol):
    """What a run, a class of its queries, or a cell of a grid came to."""

    @property
    def latency_ms(self) -> Mapping[str, float]:
        """Percentiles by name."""

    @property
    def sla_violation_share(self) -> float:
        """The late ones of all queries."""

    @property
    def error_bars(self) -> Mapping[str, ErrorBar]:
        """By the name of the percentile, and of the share."""


def sections_of(counted: int) -> tuple[int, int]:
    """How many sections so many counted queries have, and the queries of each."""
    queries = max(counted // _MOST_SECTIONS // _SECTION_UNIT, 1) * _SECTION_UNIT
    return min(counted // queries, _MOST_SECTIONS), queries


def no_bars() -> dict[str, ErrorBar]:
    """Every figure without an interval."""
    return dict.fromkeys((*PERCENTILES, LATE), ErrorBar())


def run_bars(
    histogram_KB: Ints, counted_K: Ints, late_K: Ints | NDArray[np.float64], latency_ms: Mapping[str, float], done: int
) -> dict[str, ErrorBar]:
    """The error bars by the queries drawn; rows are sections, of which the first so many are over.

    There are the log histograms of the latencies of queries served, and how many queries and late ones there were. No
    interval of a percentile where a section has fewer than 16 queries on its rarer side, and no end where it would be
    beyond all latencies; none of the share where fewer than 20 queries are late, or in time.
    """
    bars, whole_B = no_bars(), histogram_KB.sum(axis=0)
    filled = np.flatnonzero(whole_B)
    if done < _FEWEST_SECTIONS or not filled.size:
        return bars
    counted, late = int(counted_K.sum()), int(late_K.sum())
    served = _Distribution(whole_B, histogram_KB[:done], int(filled[0]), int(filled[-1]) + 1)
    part = float(counted_K[:done].sum()) / done / counted
    for name, percentile in PERCENTILES.items():
        share = percentile / 100
        if min(share, 1 - share) * served.least_section >= _LEAST_BEYOND:
            whole_ms, shares_K = served.at(share), served.shares_within(share)
            low, high = (share + side * _half_width(shares_K, share, part) for side in (-1, 1))
            bars[name] = ErrorBar(
                ci_low=latency_ms[name] * served.at(low) / whole_ms if low > 0 else None,
                ci_high=latency_ms[name] * served.at(high) / whole_ms if high < 1 else None,
            )
    if min(late, counted - late) >= _LEAST_LATE and counted_K[:done].all():
        share = late / counted
        half = _half_width(late_K[:done] / counted_K[:done], share, part)
        bars[LATE] = ErrorBar(ci_low=max(share - half, 0.0), ci_high=min(share + half, 1.0))
    return bars


def with_table_ends(figures: Figures, moved: Sequence[Figures]) -> dict[str, ErrorBar]:
    """The error bars, with what the same figures come to on tables as far off as theirs allow, themselves included."""
    found = [{**one.latency_ms, LATE: one.sla_violation_share} for one in (figures, *moved)]
    bars = {}
    for name, bar in figures.error_bars.items():
        values = [one[name] for one in found]
        known = all(math.isfinite(value) for value in values)
        bars[name] = replace(bar, table_low=min(values), table_high=max(values)) if known else bar
    return bars


def _half_width(shares_K: NDArray[np.float64], share: float, part: float) -> float:
    """Half of the interval, from the shares of sections that are each such a part of all queries."""
    freedom = len(shares_K) - 1
    return t_95(freedom) * math.sqrt(float(((shares_K - share) ** 2).sum()) / freedom * part)


class _Distribution:
    """Latencies in bins from `first` to `end`, even within a bin: of the whole run, and of its sections."""

    def __init__(self, whole_B: Ints, sections_KB: Ints, first: int, end: int) -> None:
        self._edges_ms = bin_edges_ms()[first : end + 1]
        self._below_B = np.concatenate(([0], np.cumsum(whole_B[first:end])))
        self._sections_KB = sections_KB[:, first:end]
        self._served_K = self._sections_KB.sum(axis=1)

    @property
    def least_section(self) -> int:
        """The fewest latencies of a section."""
        return int(self._served_K.min())

    def at(self, share: float) -> float:
        """The latency (ms) that such a share of the run's are within."""
        bin_, inside = self._place(share)
        return float(self._edges_ms[bin_] + inside * (self._edges_ms[bin_ + 1] - self._edges_ms[bin_]))

    def shares_within(self, share: float) -> NDArray[np.float64]:
        """Of each section, the share that is within it."""
        bin_, inside = self._place(share)
        within_K = self._sections_KB[:, :bin_].sum(axis=1) + inside * self._sections_KB[:, bin_]
        shares: NDArray[np.float64] = within_K / self._served_K
        return shares

    def _place(self, share: float) -> tuple[int, float]:
        """The bin, and how far into it."""
        target = share * self._below_B[-1]
        bin_ = min(max(int(np.searchsorted(self._below_B, target)) - 1, 0), len(self._edges_ms) - 2)
        before, upto = int(self._below_B[bin_]), int(self._below_B[bin_ + 1])
        return bin_, (target - before) / (upto - before)
