from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from profiles.errors import InputError
from serving_sim.engine import QueryTrace, simulate, trace_run
from serving_sim.plan import Arrivals, Device, IdleGap, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload


def one_path(latency: LatencyTable, *, servers: int = 1, qps: float = 500.0, policy: str = "static") -> Plan:
    return Plan(
        name="one",
        devices=(Device(name="d", servers=servers),),
        paths=(Path(name="p", representation="table", device="d", accuracy=0.8, latency=latency),),
        workload=Workload(
            qps=qps, sla_ms=50, queries=20_000, sizes=Sizes(distribution="fixed", mean=1), arrivals=Arrivals()
        ),
        policy=PolicyChoice(name=policy),
    )


def idle_before_ms(traced: QueryTrace) -> NDArray[np.float64]:
    """How long the only server had been idle when each query started."""
    idle: NDArray[np.float64] = traced.start_ms_N - np.concatenate(([0.0], traced.finish_ms_N[:-1]))
    return idle


@pytest.mark.parametrize("policy", ["static", "table-switch"])
def test_a_query_that_finds_the_server_cold_takes_longer(policy: str) -> None:
    gap = IdleGap(after_ms=2.0, factor=1.35)
    traced = trace_run(one_path(LatencyTable(sizes=(1,), mean_ms=(1.0,), idle_gap=gap), policy=policy))
    cold = idle_before_ms(traced) > 2.0
    assert 0.1 < cold.mean() < 0.9
    assert traced.service_ms_N == pytest.approx(np.where(cold, 1.35, 1.0))


@pytest.mark.parametrize("correlation", [0.0, 0.6])
@pytest.mark.parametrize("policy", ["static", "table-switch", "headroom"])
def test_a_time_added_after_idleness_comes_on_top_of_scatter(policy: str, correlation: float) -> None:
    table = LatencyTable(sizes=(1,), mean_ms=(1.0,), spread="lognormal", sigma=0.5, correlation=correlation)
    cold = replace(table, idle_gap=IdleGap(after_ms=2.0, factor=2.0, added_ms=0.3))
    plain, traced = (trace_run(one_path(one, policy=policy)) for one in (table, cold))
    is_cold_N = idle_before_ms(traced) > 2.0
    assert 0.1 < is_cold_N.mean() < 0.9
    expected_ms_N = plain.service_ms_N * np.where(is_cold_N, 2.0, 1.0) + np.where(is_cold_N, 0.3, 0.0)
    assert traced.service_ms_N == pytest.approx(expected_ms_N)


def test_of_several_servers_the_one_that_idled_longest_serves() -> None:
    gap = IdleGap(after_ms=1e9, factor=9.0)
    plan = one_path(LatencyTable(sizes=(1,), mean_ms=(1.0,), idle_gap=gap), servers=3)
    assert set(trace_run(plan).service_ms_N.tolist()) == {1.0}


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
def test_scatter_goes_on_from_the_query_before_and_keeps_its_distribution(correlation: float) -> None:
    table = LatencyTable(sizes=(1,), mean_ms=(1.0,), spread="lognormal", sigma=0.5, correlation=correlation)
    log_ms = np.log(trace_run(one_path(table)).service_ms_N)
    assert np.corrcoef(log_ms[1:], log_ms[:-1])[0, 1] == pytest.approx(correlation, abs=0.03)
    assert log_ms.std() == pytest.approx(0.5, rel=0.1)
    assert np.exp(log_ms).mean() == pytest.approx(1.0, rel=0.1)


def test_chunks_change_nothing_and_plans_without_conditions_none_either() -> None:
    table = LatencyTable(sizes=(1,), mean_ms=(1.0,), spread="lognormal", sigma=0.5)
    whole = trace_run(one_path(replace(table, correlation=0.0)))
    even = trace_run(one_path(replace(table, idle_gap=IdleGap(after_ms=1e12, factor=2.0))))
    assert np.array_equal(whole.service_ms_N, even.service_ms_N)
    assert np.array_equal(whole.start_ms_N, even.start_ms_N)


def test_the_bound_is_left_out_where_service_may_be_faster_than_drawn() -> None:
    gaps = (IdleGap(after_ms=1.0, factor=1.5), IdleGap(after_ms=1.0, added_ms=0.5), IdleGap(after_ms=1.0, factor=0.5))
    shares = [
        simulate(one_path(LatencyTable(sizes=(1,), mean_ms=(1.0,), idle_gap=gap))).fluid_bound_share for gap in gaps
    ]
    assert all(share is not None and share <= 1 for share in shares[:2])
    assert shares[2] is None


def test_a_policy_that_prices_device_time_follows_both() -> None:
    gap, never = IdleGap(after_ms=2.0, factor=1.35), IdleGap(after_ms=1e12, factor=9.0)
    table = LatencyTable(sizes=(1,), mean_ms=(1.0,))
    traced = trace_run(one_path(replace(table, idle_gap=gap), policy="headroom"))
    assert traced.service_ms_N == pytest.approx(np.where(idle_before_ms(traced) > 2.0, 1.35, 1.0))
    noisy = replace(table, spread="lognormal", sigma=0.5)
    plain, even = (trace_run(one_path(one, policy="headroom")) for one in (noisy, replace(noisy, idle_gap=never)))
    assert np.array_equal(plain.service_ms_N, even.service_ms_N)
    log_ms = np.log(trace_run(one_path(replace(noisy, correlation=0.8), policy="headroom")).service_ms_N)
    assert np.corrcoef(log_ms[1:], log_ms[:-1])[0, 1] == pytest.approx(0.8, abs=0.03)


def test_correlation_goes_with_no_misses() -> None:
    with pytest.raises(InputError, match="correlation: goes with no miss_shares"):
        LatencyTable(
            sizes=(1,),
            mean_ms=(1,),
            spread="lognormal",
            sigma=1,
            correlation=0.5,
            miss_shares=(0,),
            mean_by_miss_share_ms=((1,),),
        )
