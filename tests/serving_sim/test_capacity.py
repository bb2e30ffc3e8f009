from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest

from profiles.errors import InputError
from serving_sim.capacity import find_capacity
from serving_sim.engine import simulate
from serving_sim.plan import Arrivals, Device, LatencyTable, Path, Plan, PolicyChoice, Shard, Sizes, Workload
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


def test_a_policy_that_cannot_serve_the_plan_is_left_out_and_told_why() -> None:
    plan = small_plan()
    shard = Shard(device="gpu", latency=LatencyTable(sizes=(1,), mean_ms=(0.1,)))
    sharded = replace(plan, paths=tuple(replace(path, shards=(shard,)) for path in plan.paths))
    found = find_capacity(sharded, ["table-switch", "split"], seeds=2, queries=500, resolution=0.05, table_errors=False)
    assert [one.policy for one in found.policies] == ["table-switch"]
    assert "takes no path with shards" in found.left_out["split"]
    with pytest.raises(InputError, match="takes no path with shards"):
        find_capacity(sharded, ["split"], seeds=2, queries=500)


def test_the_object_has_the_keys_that_scripts_rely_on() -> None:
    body = find_capacity(small_plan(), seeds=2, queries=500, resolution=0.05).to_object()
    assert set(body) >= {"sla_ms", "percentile", "policies", "upper_bound_qps"}
    expected = {"policy", "max_qps", "ci_low", "ci_high", "accuracy", "correct_predictions_per_s"}
    assert all(set(policy) >= expected for policy in body["policies"])


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
    assert 0.95 * result.upper_bound_qps < result.policies[0].max_qps <= result.upper_bound_qps


def test_a_loose_sla_over_a_short_run_does_not_lift_a_policy_above_its_own_paths() -> None:
    plan = small_plan(sla_ms=2000.0)
    short, long = (find_capacity(plan, ["static"], seeds=2, queries=queries).policies[0] for queries in (2000, 40_000))
    assert short.max_qps == pytest.approx(long.max_qps, rel=0.1)
    assert "limited by what its devices sustain" in short.note


def test_a_policy_may_not_fill_its_queues_all_along_to_meet_a_long_sla() -> None:
    choice = PolicyChoice(name="mp-rec", options={"predicate": "finish-in-sla"})
    loose = small_plan(sla_ms=2000.0)
    found = find_capacity(loose, [choice], seeds=2, queries=2000).policies[0]
    result = simulate(loose, policy=choice, qps=found.max_qps_by_seed[0], queries=2000)
    assert found.max_qps > 0
    assert result.duration_s * found.max_qps_by_seed[0] < 1.2 * 2000


def slow_but_accurate() -> Plan:
    """At a low rate MP-Rec takes the hybrid, which scatters beyond the SLA; from 111 queries/s on the table."""
    plan = one_queue()
    table = replace(plan.paths[0], name="t", latency=LatencyTable(sizes=(1,), mean_ms=(0.5,)))
    scattered = LatencyTable(sizes=(1,), mean_ms=(9.0,), spread="lognormal", sigma=0.3)
    hybrid = replace(table, name="h", representation="hybrid", accuracy=0.79, latency=scattered)
    return replace(plan, paths=(table, hybrid))


def test_a_policy_that_holds_at_high_rates_only_has_a_capacity_and_says_so() -> None:
    found = find_capacity(slow_but_accurate(), ["mp-rec"], seeds=2, queries=10_000).policies[0]
    assert all(1600 < qps <= 2000 * 1.001 for qps in found.max_qps_by_seed)
    assert found.note.startswith("the SLA holds between 1")
    assert "not below" in found.note


def test_the_interval_stays_below_the_bound() -> None:
    for seed in range(5):
        result = find_capacity(replace(small_plan(), seed=seed), ["table-switch"], seeds=2, queries=100)
        assert result.policies[0].max_qps <= result.policies[0].ci_high <= result.upper_bound_qps


def test_a_replayed_trace_gives_no_confidence_interval_and_says_so(tmp_path: FilePath) -> None:
    (tmp_path / "t.txt").write_text("0\n1\n2\n4\n")
    arrivals = Arrivals(process="trace", source=str(tmp_path / "t.txt"))
    found = find_capacity(one_queue(arrivals=arrivals), ["static"], seeds=2, queries=1000).policies[0]
    assert "arrivals replay one trace" in found.note


def test_half_the_service_time_is_twice_the_capacity() -> None:
    plan = one_queue()
    fast = replace(plan, paths=(replace(plan.paths[0], latency=LatencyTable(sizes=(1,), mean_ms=(0.5,))),))
    slow_qps, fast_qps = (
        find_capacity(each, ["static"], seeds=2, queries=20_000).policies[0].max_qps
        for each in (plan.at(sla_ms=10.0), fast.at(sla_ms=5.0))
    )
    assert fast_qps == pytest.approx(2 * slow_qps, rel=0.005)


def test_an_sla_that_idle_devices_miss_is_capacity_zero_with_the_gap() -> None:
    split = find_capacity(one_queue(sla_ms=0.4), ["split"], seeds=2, queries=1000).policies[0]
    assert split.note.endswith("misses by 600 µs: no query in one part can meet it")
    found = find_capacity(one_queue(sla_ms=0.4), ["static"], seeds=2, queries=1000).policies[0]
    assert (found.max_qps, found.ci_low, found.ci_high, found.correct_predictions_per_s) == (0, 0, 0, 0)
    assert found.note.endswith(
        "at the 99th percentile the fastest path takes 1 ms and misses by 600 µs: nothing can meet it"
    )


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


@pytest.mark.parametrize("options", [{"precision": 0}, {"resolution": 1}, {"seeds": 1}, {"queries": 0}])
def test_settings_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        find_capacity(one_queue(), **options)
