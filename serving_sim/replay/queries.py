"""The queries of a replay: those that the simulator would draw for the same plan and seed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.plan import Plan

__all__ = ["Queries", "draw_queries"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Queries:
    """Scheduled arrivals (ms from the start), sizes and classes of N queries, in order of arrival."""

    arrival_ms_N: NDArray[np.float64]
    size_N: NDArray[np.int64]
    class_N: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.size_N)


def draw_queries(plan: Plan, count: int) -> Queries:
    """The first `count` queries of the plan's load.

    Raises:
        InputError: a trace that cannot be read.
    """
    # Workers know queries too, and start without the compiler.
    from serving_sim.workload import WorkloadStream, empty_chunk

    chunk = empty_chunk(count, 0)
    WorkloadStream(plan.workload, (), plan.seed).fill(chunk, count)
    arrival_ms_N = np.cumsum(chunk.gap_N) * (MS_PER_S / plan.workload.qps)
    return Queries(arrival_ms_N=arrival_ms_N, size_N=chunk.size_N, class_N=chunk.class_N)
