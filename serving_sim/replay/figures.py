"""Latency figures of queries, measured or simulated, and how far apart two of them are."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serving_sim.histogram import rank

__all__ = ["Figures", "figures_of", "mean_figures"]

Floats = NDArray[np.float64]
_PERCENTILES = (50.0, 95.0, 99.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """Percentiles of latency (ms) and the share of violations; a difference of two has the same form (see `error`)."""

    p50: float
    p95: float
    p99: float
    sla_violation_share: float

    def error(self, truth: "Figures") -> "Figures":
        """How far these are from the truth: relative for percentiles, a difference of shares for violations."""
        return Figures(
            p50=_relative(self.p50, truth.p50),
            p95=_relative(self.p95, truth.p95),
            p99=_relative(self.p99, truth.p99),
            sla_violation_share=self.sla_violation_share - truth.sla_violation_share,
        )


def figures_of(latency_ms_N: Floats, sla_ms_N: Floats) -> Figures | None:
    """Of those queries; a refused one (NaN) has no latency and is a violation. None where none was served."""
    served = np.sort(latency_ms_N[np.isfinite(latency_ms_N)])
    if not len(served):
        return None
    late = 1 - np.count_nonzero(latency_ms_N <= sla_ms_N) / len(latency_ms_N)
    p50, p95, p99 = (float(served[rank(percentile, len(served))]) for percentile in _PERCENTILES)
    return Figures(p50=p50, p95=p95, p99=p99, sla_violation_share=float(late))


def mean_figures(figures: Iterable[Figures | None]) -> Figures | None:
    """Means over repetitions that have any."""
    known = [one for one in figures if one is not None]
    if not known:
        return None
    names = ("p50", "p95", "p99", "sla_violation_share")
    return Figures(**{name: float(np.mean([getattr(one, name) for one in known])) for name in names})


def _relative(value: float, truth: float) -> float:
    return value / truth - 1 if truth else 0.0
