"""Scheduling problems of whole tables: each takes so many milliseconds and bytes on the one rank that holds it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.distributed import PieceCosts, Pieces, RooflineCosts, TableConstraint
from planner.distributed.preparation import prepare
from planner.distributed.search.problem import Problem
from tests.planner.distributed.small_clusters import small_cluster, table

ROW_BYTES = 68


@dataclass(frozen=True)
class JobCosts:
    """A table's pooling is its time."""

    assumptions: tuple[str, ...] = ()

    def price(self, pieces: Pieces) -> PieceCosts:
        zero_N = np.zeros(len(pieces))
        return replace(
            RooflineCosts().price(pieces),
            forward_compute_ms_N=np.where(pieces.has_scheme("table_wise"), pieces.pooling, np.inf),
            backward_compute_ms_N=zero_N,
            forward_comm_ms_N=zero_N,
            backward_comm_ms_N=zero_N,
            input_ms_N=zero_N,
        )


def job_problem(
    times: Sequence[float], ranks: int, *, rows: Sequence[int] = (), rank_rows: int = 10**6, ddr_rows: int = 0
) -> Problem:
    """The problem of jobs, in order of their rows (by default 1, 2, ...); a rank holds `rank_rows` of those."""
    sizes = rows or range(1, len(times) + 1)
    tables = [
        table(f"t{index}", rows=size, pooling=ms) for index, (size, ms) in enumerate(zip(sizes, times, strict=True))
    ]
    cluster = small_cluster(1, ranks, hbm_bytes=rank_rows * ROW_BYTES, ddr_bytes=ddr_rows * ROW_BYTES)
    only = [TableConstraint(table="*", schemes=("table_wise",))]
    return prepare(tables, cluster, batch_per_rank=1, constraints=only, costs=JobCosts()).problem


def first_options(problem: Problem) -> NDArray[np.int64]:
    """Every unit's first option."""
    return problem.start_U1[:-1]
