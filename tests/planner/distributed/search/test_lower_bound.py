import numpy as np
import pytest

from planner.distributed import RooflineCosts, TableConstraint
from planner.distributed.preparation import prepare
from planner.distributed.search.lower_bound import Choices, lower_bound
from planner.distributed.search.solving import Solution, solve
from tests.planner.distributed.search.jobs import job_problem
from tests.planner.distributed.small_clusters import small_cluster, table


def test_work_spread_evenly_is_a_bound() -> None:
    bound = lower_bound(Choices(job_problem([5, 4, 3], 2)))
    assert (bound.ms, bound.kind) == (6.0, "mean over ranks of the least work")


def test_a_job_that_cannot_be_cut_is_a_bound() -> None:
    bound = lower_bound(Choices(job_problem([10, 1, 1], 3)))
    assert (bound.ms, bound.kind) == (10.0, "smallest largest shard")


def test_memory_raises_the_bound_where_it_forces_slow_tiers() -> None:
    tables = [table("a", rows=1000, pooling=300.0), table("b", rows=1001, pooling=300.0)]
    only = [TableConstraint(table="*", schemes=("table_wise",))]

    def bound(hbm_bytes: int) -> float:
        cluster = small_cluster(1, 1, hbm_bytes=hbm_bytes, ddr_bytes=10**6)
        problem = prepare(tables, cluster, batch_per_rank=8, constraints=only, costs=RooflineCosts()).problem
        solution = solve(problem)
        assert isinstance(solution, Solution)
        assert solution.assignment.slowest_ms >= solution.bound.ms * (1 - 1e-9)
        return solution.bound.ms

    roomy, half, none = bound(200_000), bound(70_000), bound(0)
    assert roomy < half < none
    assert half == pytest.approx((roomy + none) / 2, rel=0.05)


def test_the_least_work_under_a_threshold_is_chosen() -> None:
    cluster = small_cluster(1, 4)
    problem = prepare(
        [table(rows=1000, dim=64, pooling=50.0)], cluster, batch_per_rank=8, constraints=[], costs=RooflineCosts()
    ).problem
    choices, free_T = Choices(problem), np.zeros(1)
    whole = choices.chosen(np.inf, free_T)
    assert whole is not None
    cut = choices.chosen(float(problem.options.largest_O[whole[0]]) / 2, free_T)
    assert cut is not None
    assert problem.options.work_O[whole[0]] < problem.options.work_O[cut[0]]
    assert problem.options.largest_O[whole[0]] > problem.options.largest_O[cut[0]]
    assert choices.chosen(0.0, free_T) is None
