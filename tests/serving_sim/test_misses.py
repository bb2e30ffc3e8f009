from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from serving_sim.engine import simulate
from serving_sim.misses import Misses, draw_miss_share
from serving_sim.paths import compile_paths
from serving_sim.plan import Cache, HitCurve, LatencyTable, Plan, Sizes
from serving_sim.testing import small_plan
from serving_sim.workload import WorkloadStream, empty_chunk


def cached_plan(rate: float, *, features: int = 4, size: int = 50) -> Plan:
    """A path whose latency goes from 1 to 5 ms with what misses, and one that looks into no cache."""
    plan = small_plan().at(sizes=Sizes(distribution="fixed", mean=size))
    cache = Cache(
        name="hot",
        capacity_bytes=64 * features,
        entry_bytes=64,
        features=features,
        hit_rate=HitCurve(entries=(1,), rates=(rate,)),
    )
    table = LatencyTable(
        sizes=(1, 4096), mean_ms=(2, 2), miss_shares=(0.0, 0.5, 1.0), mean_by_miss_share_ms=((1, 1), (2, 2), (5, 5))
    )
    cached = replace(
        plan.paths[0], name="cached", cache="hot", latency=table, accuracy_on_hit=0.7, accuracy_on_miss=0.8
    )
    return replace(plan, caches=(cache,), paths=(cached, *plan.paths[1:]))


def drawn_ms(plan: Plan, queries: int = 20_000) -> NDArray[np.float64]:
    """What each query would take on the first path."""
    tables = compile_paths(plan)
    chunk = empty_chunk(queries, len(tables.spreads))
    WorkloadStream(plan.workload, tables.spreads, plan.seed).fill(chunk, queries)
    mean = tables.arrays.service_ms_SP[chunk.size_N, 0]
    service: NDArray[np.float64] = mean * chunk.factor_KN[tables.arrays.spread_P[0]]
    return service


def test_misses_are_binomial_over_samples_and_features() -> None:
    size_N = np.full(100_000, 50)
    share = draw_miss_share(Misses(cache="c", features=4, hit_rate=0.7), size_N, np.random.default_rng(0))
    assert share.mean() == pytest.approx(0.3, abs=0.001)
    assert share.var() == pytest.approx(0.3 * 0.7 / 200, rel=0.03)
    assert np.allclose(share * 200, np.rint(share * 200))


def test_routing_sees_the_expected_service_and_queries_take_their_own() -> None:
    plan = cached_plan(0.6)
    assert compile_paths(plan).arrays.service_ms_SP[50, 0] == pytest.approx(1.8)
    taken = drawn_ms(plan)
    # Linear around the expected share: 2 ms more per unit of it, whose deviation is sqrt(pq / 200).
    assert taken.mean() == pytest.approx(1.8, rel=0.002)
    assert taken.std() == pytest.approx(2 * np.sqrt(0.6 * 0.4 / 200), rel=0.03)


@pytest.mark.parametrize(("rate", "expected"), [(1.0, 1.0), (0.0, 5.0)])
def test_a_cache_that_holds_all_or_nothing_leaves_no_scatter(rate: float, expected: float) -> None:
    assert drawn_ms(cached_plan(rate), 100) == pytest.approx(np.full(100, expected))


def test_beyond_the_shares_of_the_table_time_stays() -> None:
    plan = cached_plan(0.9, size=2000)
    table = replace(plan.paths[0].latency, miss_shares=(0.4, 0.5), mean_by_miss_share_ms=((3, 3), (4, 4)))
    narrow = replace(plan, paths=(replace(plan.paths[0], latency=table),))
    assert drawn_ms(narrow, 100) == pytest.approx(np.full(100, 3.0))


def test_accuracy_is_expected_over_hits_and_misses() -> None:
    assert compile_paths(cached_plan(0.6)).arrays.accuracy_P[0] == pytest.approx(0.6 * 0.7 + 0.4 * 0.8)


def test_a_result_says_how_many_lookups_hit() -> None:
    assert "cache hot: 60.0% of the lookups hit" in simulate(cached_plan(0.6)).notes


def test_a_cache_disturbs_no_other_draw_and_its_device_is_uncertain() -> None:
    plan = cached_plan(0.6)
    bare = small_plan().at(sizes=Sizes(distribution="fixed", mean=50))
    tables = compile_paths(plan)
    assert tables.arrays.uncertain_D.tolist() == [1, 0]
    one, other = empty_chunk(100, len(tables.spreads)), empty_chunk(100, 1)
    WorkloadStream(plan.workload, tables.spreads, 0).fill(one, 100)
    WorkloadStream(bare.workload, compile_paths(bare).spreads, 0).fill(other, 100)
    assert np.array_equal(one.gap_N, other.gap_N)


def test_the_hosts_part_comes_on_top() -> None:
    plan = small_plan()
    hosted = replace(plan, paths=(replace(plan.paths[0], host_ms=0.25), *plan.paths[1:]))
    more = compile_paths(hosted).arrays.service_ms_SP - compile_paths(plan).arrays.service_ms_SP
    assert more[1:].max(axis=0) == pytest.approx([0.25, 0, 0, 0, 0, 0])
