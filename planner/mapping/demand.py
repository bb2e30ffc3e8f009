"""A workload as a table of alike queries: how large, how many a second, and until when they must be done."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.plan import Workload
from serving_sim.sizes import SizeStream

__all__ = ["Demand", "demand_of"]

Floats = NDArray[np.float64]

# Drawn once, from a fixed seed: the shares of sizes are then good to a third of a percent.
_DRAWS = 65_536
# Rows per doubling of the size, within which service times hardly differ.
_ROWS_PER_OCTAVE = 2


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Demand:
    """R rows of queries: their mean size in samples, queries per ms, and SLA, each of shape [R]."""

    size_R: Floats
    rate_per_ms_R: Floats
    sla_ms_R: Floats

    @property
    def samples_per_s(self) -> float:
        """All samples that come in a second."""
        return MS_PER_S * float(self.size_R @ self.rate_per_ms_R)


def demand_of(workload: Workload) -> Demand:
    """The workload's sizes and classes, in rows of half a doubling; a size's row has the mean of those that it joins.

    Raises:
        InputError: a trace of sizes that cannot be read.
    """
    shares = [one.share for one in workload.classes] or [1.0]
    parts = []
    for share, sizes, sla_ms in zip(shares, workload.class_sizes(), workload.slas_ms, strict=True):
        drawn_N = SizeStream(sizes, np.random.default_rng(0), 0.0).next(_DRAWS).astype(np.float64)
        row_N = np.floor(_ROWS_PER_OCTAVE * np.log2(drawn_N) + 1e-9).astype(np.int64)
        count_R = np.bincount(row_N)
        size_R = np.bincount(row_N, weights=drawn_N)[count_R > 0] / count_R[count_R > 0]
        rate_R = share * workload.qps / MS_PER_S * count_R[count_R > 0] / _DRAWS
        parts.append((size_R, rate_R, np.full(len(size_R), sla_ms)))
    size_R, rate_R, sla_R = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Demand(size_R=size_R, rate_per_ms_R=rate_R, sla_ms_R=sla_R)
