import math
from dataclasses import replace
from typing import Literal

import pytest

from profiles.errors import InputError
from serving_sim.engine import SimulationOptions, simulate
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Device, IdleGap, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.theory import (
    erlang_c,
    exponential_moments,
    lognormal_moments,
    md1_mean_wait,
    mg1_asymptotic_variance,
    mg1_exceptional_first_mean_wait,
    mg1_mean_wait,
    mg1_wait_moments,
    mmc_mean_wait,
)

QUIET = SimulationOptions(exact_queries=0, fluid_bound=False)


def queue(
    *,
    load: float,
    servers: int = 1,
    spread: Literal["none", "lognormal", "exponential"] = "exponential",
    sigma: float = 0.0,
    queries: int,
) -> Plan:
    """One path with a mean service of 1 ms, so that 1000 x load x servers queries per second offer that load."""
    table = LatencyTable(sizes=(1,), mean_ms=(1.0,), spread=spread, sigma=sigma)
    return Plan(
        name="queue",
        devices=(Device(name="d", servers=servers),),
        paths=(Path(name="p", representation="table", device="d", accuracy=1.0, latency=table),),
        workload=Workload(
            qps=1000 * load * servers,
            sla_ms=100,
            queries=queries,
            sizes=Sizes(distribution="fixed", mean=1, maximum=1),
        ),
        policy=PolicyChoice(name="static"),
    )


def run(plan: Plan) -> SimulationResult:
    return simulate(plan, options=QUIET)


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_exponential_service_waits_as_erlang_says(servers: int, load: float) -> None:
    result = run(queue(load=load, servers=servers, queries=20_000_000))
    assert result.mean_wait_ms == pytest.approx(mmc_mean_wait(load * servers, 1.0, servers), rel=0.01)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_constant_service_waits_as_pollaczek_and_khinchine_say(load: float) -> None:
    result = run(queue(load=load, spread="none", queries=4_000_000))
    assert result.mean_wait_ms == pytest.approx(md1_mean_wait(load, 1.0), rel=0.01)


def test_lognormal_service_waits_as_pollaczek_and_khinchine_say() -> None:
    result = run(queue(load=0.5, spread="lognormal", sigma=0.5, queries=4_000_000))
    assert result.mean_wait_ms == pytest.approx(mg1_mean_wait(0.5, 1.0, math.sqrt(math.exp(0.25) - 1)), rel=0.01)


@pytest.mark.parametrize(
    ("load", "policy"), [(0.2, "static"), (0.7, "static"), (0.4, "table-switch"), (0.7, "headroom")]
)
def test_a_time_added_after_any_idleness_waits_as_welch_says(load: float, policy: str) -> None:
    mean, second, *_ = lognormal_moments(1.0, 0.5)
    added_ms = 0.8
    plan = queue(load=load, spread="lognormal", sigma=0.5, queries=2_000_000)
    table = replace(plan.paths[0].latency, idle_gap=IdleGap(after_ms=0, added_ms=added_ms))
    keeps_all = PolicyChoice(name=policy, options={"refuse": False} if policy == "headroom" else {})
    result = run(replace(plan, paths=(replace(plan.paths[0], latency=table),), policy=keeps_all))
    first = (mean + added_ms, second + 2 * added_ms * mean + added_ms**2)
    assert result.mean_wait_ms == pytest.approx(mg1_exceptional_first_mean_wait(load, (mean, second), first), rel=0.01)


def test_a_first_service_like_all_others_waits_as_pollaczek_and_khinchine_say() -> None:
    moments = exponential_moments(2.0)
    assert mg1_exceptional_first_mean_wait(0.3, moments, moments) == pytest.approx(mg1_mean_wait(0.3, 2.0, 1.0))


def test_utilisation_is_the_offered_load_and_queries_in_flight_follow_littles_law() -> None:
    result = run(queue(load=0.6, queries=1_000_000))
    assert result.device_utilisation["d"] == pytest.approx(0.6, rel=0.01)
    in_flight = result.counted / result.duration_s * result.mean_latency_ms / 1e3
    assert in_flight == pytest.approx(0.6 / 0.4, rel=0.02)


def test_work_is_conserved() -> None:
    result = run(queue(load=0.9, spread="none", queries=10_000))
    busy_ms = result.device_utilisation["d"] * 1e3 * result.duration_s
    assert busy_ms == pytest.approx(10_000, rel=0.02)
    assert result.mean_latency_ms == pytest.approx(result.mean_wait_ms + 1.0)


def test_formulas_agree_where_they_meet() -> None:
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    assert mmc_mean_wait(0.7, 1.0) == pytest.approx(mg1_mean_wait(0.7, 1.0, 1.0))
    assert md1_mean_wait(0.7, 1.0) == pytest.approx(mmc_mean_wait(0.7, 1.0) / 2)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert mmc_mean_wait(0.0, 1.0) == 0.0


@pytest.mark.parametrize(("servers", "offered"), [(0, 0.5), (1, 1.0), (2, -0.1)])
def test_a_queue_without_a_steady_state_is_refused(servers: int, offered: float) -> None:
    with pytest.raises(InputError, match=r"servers|offered load"):
        erlang_c(servers, offered)


@pytest.mark.parametrize("load", [0.5, 0.8, 0.95])
def test_the_asymptotic_variance_of_an_exponential_queue_is_daleys(load: float) -> None:
    daley = load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4
    assert mg1_asymptotic_variance(load, exponential_moments(1.0)) == pytest.approx(daley)


def test_the_moments_of_a_wait_are_those_of_the_exponential_queue() -> None:
    """With probability `load` the wait is exponential of mean 1 / (1 - load), else 0."""
    assert mg1_wait_moments(0.5, exponential_moments(1.0)) == pytest.approx((1.0, 4.0, 24.0))
    assert mg1_wait_moments(0.7, lognormal_moments(1.0, 0.0))[0] == pytest.approx(md1_mean_wait(0.7, 1.0))


def test_constant_service_scatters_less_than_exponential() -> None:
    constant, exponential = (
        mg1_asymptotic_variance(0.9, moments) for moments in (lognormal_moments(1.0, 0.0), exponential_moments(1.0))
    )
    assert 0 < constant < exponential / 4
