from dataclasses import replace
from typing import Any

import pytest

from profiles.errors import InputError
from serving_sim.capacity import find_capacity
from serving_sim.engine import simulate
from serving_sim.plan import Arrivals, Device, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.policies import POLICIES
from serving_sim.testing import small_plan


def one_queue(**load: Any) -> Plan:
    path = Path(
        name="p", representation="table", device="d", accuracy=0.75, latency=LatencyTable(sizes=(1,), mean_ms=(1.0,))
    )
    sizes = Sizes(distribution="fixed", mean=1, maximum=1)
    return Plan(
        name="one",
        devices=(Device(name="d"),),
        paths=(path,),
        workload=Workload(qps=1, sizes=sizes, **{"sla_ms": 10.0, **load}),
    )


def test_the_object_has_the_keys_that_scripts_rely_on() -> None:
    body = find_capacity(small_plan(), seeds=2, queries=500, precision=0.05).to_object()
    assert set(body) >= {"sla_ms", "percentile", "policies", "upper_bound_qps"}
    expected = {"policy", "max_qps", "ci_low", "ci_high", "accuracy", "correct_predictions_per_s"}
    assert [set(policy) >= expected for policy in body["policies"]] == [True, True]


def test_the_sla_holds_at_the_capacity_and_not_above_it() -> None:
    plan = small_plan(queries=20_000)
    found = find_capacity(plan, ["table-switch"], seeds=2, queries=20_000).policies[0]
    for factor, holds in ((1.0, True), (1.02, False)):
        result = simulate(plan, policy="table-switch", qps=found.max_qps_by_seed[0] * factor)
        assert (result.latency_ms["p99"] <= plan.workload.sla_ms) == holds


def test_no_policy_serves_more_than_the_fluid_bound_and_a_loose_sla_comes_close() -> None:
    result = find_capacity(one_queue(sla_ms=200.0), ["static"], seeds=3, queries=100_000)
    assert result.upper_bound_qps == pytest.approx(1000)
    found = result.policies[0]
    assert 960 < found.ci_low < found.max_qps <= 1000 * (1 + 1e-6)
    assert found.correct_predictions_per_s == pytest.approx(0.75 * found.max_qps, rel=0.02)
    assert found.accuracy == pytest.approx(0.75)


def test_a_loose_sla_does_not_lift_the_capacity_above_what_the_devices_sustain() -> None:
    result = find_capacity(one_queue(sla_ms=1e6), ["static"], seeds=2, queries=1000)
    assert result.policies[0].max_qps == result.upper_bound_qps


def test_half_the_service_time_is_twice_the_capacity() -> None:
    plan = one_queue()
    fast = replace(plan, paths=(replace(plan.paths[0], latency=LatencyTable(sizes=(1,), mean_ms=(0.5,))),))
    slow_qps, fast_qps = (
        find_capacity(each, ["static"], seeds=2, queries=20_000).policies[0].max_qps
        for each in (plan.at(sla_ms=10.0), fast.at(sla_ms=5.0))
    )
    assert fast_qps == pytest.approx(2 * slow_qps, rel=0.005)


def test_an_sla_that_idle_devices_miss_is_capacity_zero_with_the_gap() -> None:
    found = find_capacity(one_queue(sla_ms=0.4), ["static"], seeds=2, queries=1000).policies[0]
    assert (found.max_qps, found.ci_low, found.ci_high, found.correct_predictions_per_s) == (0, 0, 0, 0)
    assert found.note.endswith("at the 99th percentile the fastest path takes 1 ms and misses by 600 µs")


def test_a_policy_that_misses_where_the_fastest_path_would_not_says_so() -> None:
    choice = PolicyChoice(name="static", options={"path": "hybrid-cpu"})
    found = find_capacity(small_plan(), [choice, POLICIES.get("static")()], seeds=2, queries=2000).policies
    assert found[0].policy == "static (path=hybrid-cpu)"
    assert found[0].max_qps == 0
    assert "would leave" in found[0].note
    assert found[1].max_qps > 0


def test_bursty_arrivals_cost_capacity() -> None:
    smooth, bursty = (
        find_capacity(one_queue(arrivals=arrivals), seeds=18, queries=2000)
        for arrivals in (Arrivals(), Arrivals(process="gamma", cv=3.0))
    )
    assert bursty.policies[0].max_qps < 0.8 * smooth.policies[0].max_qps


@pytest.mark.parametrize("options", [{"precision": 0}, {"seeds": 1}, {"queries": 0}])
def test_settings_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        find_capacity(one_queue(), **options)
