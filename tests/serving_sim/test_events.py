from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.errors import InputError
from serving_sim.engine import QueryTrace, SimulationOptions, simulate, start_simulation, trace_run
from serving_sim.events import event_plan, general_plan, start_with
from serving_sim.kernels import REFUSAL, Chunk
from serving_sim.paths import compile_paths
from serving_sim.plan import Device, IdleGap, LatencyTable, Outage, Path, Plan, PolicyChoice, Shard, Sizes, Workload
from serving_sim.policies import as_policy, compile_rule
from serving_sim.run import Run, start_run
from serving_sim.testing import small_plan
from serving_sim.workload import WorkloadStream, empty_chunk
from tests.serving_sim.event_plans import event_plans, most_at_a_time
from tests.serving_sim.reference import plans


def one_path(
    mean_ms: float = 1.0, *, servers: int = 1, qps: float = 500.0, queries: int = 1_000, **device: Any
) -> Plan:
    table = LatencyTable(sizes=(1, 100), mean_ms=(mean_ms, mean_ms))
    return Plan(
        name="one",
        devices=(Device(name="d", servers=servers, **device),),
        paths=(Path(name="p", representation="table", device="d", accuracy=0.8, latency=table),),
        workload=Workload(qps=qps, sla_ms=50, queries=queries, sizes=Sizes(distribution="fixed", mean=1)),
        policy=PolicyChoice(name="static"),
    )


def run_of(plan: Plan, *, general: bool, held: int = 2**12) -> tuple[Run, Chunk]:
    tables, load, rule = compile_paths(plan), plan.workload, compile_rule(as_policy(plan.policy), plan)
    chunk = empty_chunk(load.queries, len(tables.spreads))
    WorkloadStream(load, tables.spreads, plan.seed).fill(chunk, load.queries)
    events = start_with(general_plan(plan, rule), len(tables.spreads), held) if general else None
    return start_run(tables.arrays, rule, qps=load.qps, sla_ms=load.slas_ms, exact=1, events=events), chunk


def served_in_general(plan: Plan) -> QueryTrace:
    run, chunk = run_of(plan, general=True)
    ends = [run.serve(chunk, plan.workload.queries)]
    parts = [copied(*ends[0]), copied(*(run.finish() or ends[0]))]
    return QueryTrace(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def copied(chunk: Chunk, count: int) -> dict[str, Any]:
    names = ("size_N", "path_N", "arrival_ms_N", "start_ms_N", "service_ms_N")
    return {name: getattr(chunk, name)[:count].copy() for name in names}


def assert_alike(one: QueryTrace, other: QueryTrace) -> None:
    assert np.array_equal(one.path_N, other.path_N)
    assert np.array_equal(one.start_ms_N, other.start_ms_N)
    assert np.array_equal(one.service_ms_N, other.service_ms_N)


@given(plan=plans())
@settings(max_examples=25, deadline=None)
def test_the_general_loop_serves_as_the_others_do_bit_for_bit(plan: Plan) -> None:
    assert_alike(served_in_general(plan), trace_run(plan))


@given(plan=plans(), servers=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_so_it_does_on_cold_servers_and_with_correlated_scatter(plan: Plan, servers: int) -> None:
    table = LatencyTable(
        sizes=(1, 50),
        mean_ms=(0.5, 2.0),
        spread="lognormal",
        sigma=0.6,
        correlation=0.7,
        idle_gap=IdleGap(after_ms=1.0, factor=1.4, added_ms=0.3),
    )
    changed = replace(
        plan,
        paths=tuple(replace(path, latency=table) for path in plan.paths),
        devices=tuple(replace(device, servers=servers) for device in plan.devices),
    )
    assert_alike(served_in_general(changed), trace_run(changed))


@given(plan=plans())
@settings(max_examples=30, deadline=None)
def test_failures_that_never_come_change_nothing(plan: Plan) -> None:
    safe = replace(plan, devices=tuple(replace(one, mtbf_s=1e300, repair_s=1.0) for one in plan.devices))
    assert_alike(trace_run(safe), trace_run(plan))


@pytest.mark.parametrize("qps", [300.0, 3000.0])
def test_a_rule_by_prices_comes_to_the_same_in_the_general_loop(qps: float) -> None:
    plan = replace(small_plan(queries=3000, qps=qps), policy=PolicyChoice(name="headroom"))
    safe = replace(plan, devices=tuple(replace(one, mtbf_s=1e15, repair_s=1.0) for one in plan.devices))
    assert_alike(trace_run(safe), trace_run(plan))
    assert_alike(trace_run(safe, options=SimulationOptions(chunk_queries=7)), trace_run(plan))


@given(plan=plans(), refuse=st.booleans())
@settings(max_examples=25, deadline=None)
def test_so_it_does_where_service_scatters_and_prices_follow_what_was_seen(plan: Plan, refuse: bool) -> None:
    # One size and rate for all draws, so that prices are renewed while queues come and go.
    load = replace(plan.workload, queries=400, qps=800.0, sla_ms=20.0)
    priced = replace(plan, workload=load, policy=PolicyChoice(name="headroom", options={"refuse": refuse}))
    safe = replace(priced, devices=tuple(replace(one, mtbf_s=1e15, repair_s=1.0) for one in priced.devices))
    assert_alike(trace_run(safe), trace_run(priced))


@pytest.mark.parametrize("servers", [1, 2])
def test_a_rule_by_prices_serves_alike_on_cold_servers_too(servers: int) -> None:
    gap = IdleGap(after_ms=1.0, factor=1.2, added_ms=0.3)
    plan = replace(one_path(servers=servers), policy=PolicyChoice(name="headroom", options={"refuse": False}))
    table = replace(plan.paths[0].latency, spread="lognormal", sigma=0.4, correlation=0.5, idle_gap=gap)
    cold = replace(plan, paths=(replace(plan.paths[0], latency=table),))
    assert_alike(served_in_general(cold), trace_run(cold))


def test_a_rule_by_prices_keeps_away_from_a_device_that_is_down() -> None:
    plan = replace(small_plan(queries=3000, qps=300.0), policy=PolicyChoice(name="headroom"))
    down = replace(plan.devices[1], outages=(Outage(start_s=2.0, end_s=4.0),))
    traced = trace_run(replace(plan, devices=(plan.devices[0], down)))
    served_N = traced.path_N >= 0
    during_N = served_N & (traced.arrival_ms_N > 2000) & (traced.arrival_ms_N < 3990)
    devices = [path.device for path in plan.paths]
    assert {devices[path] for path in traced.path_N[during_N]} == {plan.devices[0].name}
    assert {devices[path] for path in traced.path_N[served_N]} == {one.name for one in plan.devices}


def test_a_rule_by_prices_counts_what_is_still_with_the_shards() -> None:
    plan = replace(small_plan(queries=3000, qps=1500.0), policy=PolicyChoice(name="headroom"))
    look_up = LatencyTable(sizes=(1, 100), mean_ms=(0.2, 0.4))
    shards = tuple(Shard(device=one.name, latency=look_up) for one in plan.devices)
    result = simulate(replace(plan, paths=tuple(replace(path, shards=shards) for path in plan.paths)))
    assert result.sla_violation_share < 0.2


@given(plan=event_plans())
@settings(max_examples=30, deadline=None)
def test_every_query_is_done_once_and_none_before_it_came(plan: Plan) -> None:
    traced, (_, chunk) = trace_run(plan), run_of(plan, general=True)
    assert np.array_equal(traced.size_N, chunk.size_N)
    assert np.all(np.diff(traced.arrival_ms_N) >= 0)
    assert np.all(traced.start_ms_N >= traced.arrival_ms_N)
    assert np.all(traced.service_ms_N[traced.path_N != REFUSAL] > 0)
    assert np.all(np.isfinite(traced.finish_ms_N))


@given(plan=event_plans())
@settings(max_examples=25, deadline=None)
def test_no_device_is_busy_for_longer_than_its_servers_are_there(plan: Plan) -> None:
    used = simulate(plan).device_utilisation
    assert all(0 <= share <= 1 + 1e-9 for share in used.values())


@given(plan=event_plans())
@settings(max_examples=30, deadline=None)
def test_no_policy_beats_the_bound_whatever_fails_and_is_joined_or_split(plan: Plan) -> None:
    share = simulate(plan).fluid_bound_share
    assert share is None or 0 <= share <= 1 + 1e-9


@given(plan=event_plans(), chunk=st.integers(1, 100))
@settings(max_examples=30, deadline=None)
def test_chunks_change_nothing_and_a_result_halfway_neither(plan: Plan, chunk: int) -> None:
    whole, parts = start_simulation(plan), start_simulation(plan)
    whole.advance(plan.workload.queries)
    parts.advance(min(chunk, plan.workload.queries))
    if plan.workload.queries >= 100:
        parts.advance(0)
    parts.ending()
    parts.advance(plan.workload.queries - min(chunk, plan.workload.queries))
    assert parts.result() == whole.result()


@given(plan=plans())
@settings(max_examples=25, deadline=None)
def test_a_device_serves_first_come_first_served_and_a_server_one_query_at_a_time(plan: Plan) -> None:
    traced = served_in_general(plan)
    device_P = compile_paths(plan).arrays.device_P
    for place, device in enumerate(plan.devices):
        is_own_N = device_P[traced.path_N] == place
        assert np.all(np.diff(traced.start_ms_N[is_own_N]) >= 0)
        assert most_at_a_time(traced, is_own_N) <= device.servers


@given(plan=plans(), more=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_more_servers_let_no_query_of_one_path_end_later(plan: Plan, more: int) -> None:
    fixed = replace(plan, policy=PolicyChoice(name="static"))
    wider = replace(fixed, devices=tuple(replace(one, servers=one.servers + more) for one in fixed.devices))
    few, many = served_in_general(fixed), served_in_general(wider)
    assert np.all(many.start_ms_N <= few.start_ms_N * (1 + 1e-12))


def test_queries_wait_out_an_outage_of_the_only_device() -> None:
    plan = one_path(outages=(Outage(start_s=0.5, end_s=1.0),))
    traced = trace_run(plan)
    during = (traced.arrival_ms_N > 500) & (traced.arrival_ms_N < 1000)
    assert during.sum() > 100
    assert np.all(traced.start_ms_N[during] >= 1000)
    assert np.all(traced.finish_ms_N[traced.arrival_ms_N < 480] <= 500)


def test_a_router_sends_nothing_to_a_device_that_it_knows_to_be_down() -> None:
    plan = small_plan(qps=1500, queries=3_000)
    down = replace(plan.devices[1], outages=(Outage(start_s=0.5, end_s=1.0),), detection_s=0.1)
    traced = trace_run(replace(plan, devices=(plan.devices[0], down)), policy="table-switch")
    on_gpu, arrival_ms_N = traced.path_N >= 3, traced.arrival_ms_N
    assert not on_gpu[(arrival_ms_N > 600) & (arrival_ms_N < 1000)].any()
    assert on_gpu[(arrival_ms_N > 1000)].any()
    # What had been sent there unknowingly was sent on, or waited for the end of the outage.
    assert np.all((traced.start_ms_N[on_gpu] <= 500) | (traced.start_ms_N[on_gpu] >= 1000))


def test_a_query_that_lost_its_server_starts_again_elsewhere_or_where_it_was() -> None:
    plan = replace(one_path(100.0, qps=1.0, queries=1), seed=1)
    arrival_ms = float(trace_run(plan).arrival_ms_N[0])
    cut = Outage(start_s=(arrival_ms + 50) / 1e3, end_s=(arrival_ms + 80) / 1e3)
    twin = replace(plan.paths[0], name="q", device="e")
    cases: tuple[tuple[Literal["restart", "redispatch"], float], ...] = (("restart", 80.0), ("redispatch", 50.0))
    for choice, wait_ms in cases:
        lost = replace(plan.devices[0], outages=(cut,), on_failure=choice)
        both = replace(plan, devices=(lost, Device(name="e")), paths=(plan.paths[0], twin))
        result = trace_run(both, policy="table-switch")
        assert float(result.start_ms_N[0] - arrival_ms) == pytest.approx(wait_ms)
        assert result.path_N[0] == (0 if choice == "restart" else 1)


def test_failures_take_the_share_of_time_that_repairs_do() -> None:
    plan = one_path(1.0, qps=5000, queries=100_000, mtbf_s=0.3, repair_s=0.1)
    result = simulate(plan)
    assert result.duration_s == pytest.approx(100_000 * 1e-3 / 0.75, rel=0.1)
    assert any("a server went down under a query" in note for note in result.notes)
    assert simulate(replace(plan, seed=1)).duration_s != result.duration_s


def test_servers_are_slow_until_they_are_warm() -> None:
    traced = trace_run(one_path(outages=(Outage(start_s=1.0, end_s=1.1),), warm_up_s=0.2, warm_up_factor=1.5))
    start_ms_N = traced.start_ms_N
    is_cold_N = (start_ms_N < 200) | ((start_ms_N >= 1100) & (start_ms_N < 1300))
    assert traced.service_ms_N == pytest.approx(np.where(is_cold_N, 1.5, 1.0))


def test_a_query_waits_for_its_slowest_shard() -> None:
    plan = one_path(1.0, qps=1.0, queries=50)
    shards = tuple(
        Shard(device=name, latency=LatencyTable(sizes=(1,), mean_ms=(mean_ms,)))
        for name, mean_ms in (("d", 2.0), ("e", 5.0))
    )
    sharded = replace(plan, devices=(*plan.devices, Device(name="e")), paths=(replace(plan.paths[0], shards=shards),))
    result = simulate(sharded)
    assert result.mean_latency_ms == pytest.approx(6.0, rel=0.01)
    assert result.device_utilisation["e"] == pytest.approx(5 / 3 * result.device_utilisation["d"], rel=1e-6)


def test_shards_scatter_by_themselves() -> None:
    table = LatencyTable(sizes=(1,), mean_ms=(1.0,), spread="exponential")
    plan = one_path(1e-6, qps=1.0, queries=4_000)
    devices = tuple(Device(name=name) for name in "def")
    shards = tuple(Shard(device=device.name, latency=table) for device in devices)
    sharded = replace(plan, devices=devices, paths=(replace(plan.paths[0], shards=shards),))
    # The longest of three exponential times takes 1 + 1/2 + 1/3 on average.
    assert simulate(sharded).mean_latency_ms == pytest.approx(11 / 6, rel=0.05)


def test_more_queries_than_the_system_holds_are_refused_and_the_verdict_says_so() -> None:
    plan = one_path(10.0, qps=10_000, queries=2_000)
    run, chunk = run_of(plan, general=True, held=64)
    room, count = run.serve(chunk, 2_000)
    assert run.overflow == int((room.path_N[:count] == REFUSAL).sum())
    assert run.overflow > 1_000
    assert (run.finish() or (chunk, 0))[1] == 2_000 - count


def test_a_query_that_no_server_lives_through_is_given_up() -> None:
    result = simulate(one_path(10_000.0, queries=3, mtbf_s=0.01, repair_s=0.01))
    assert result.refused == result.counted == 3
    assert any(note.startswith("given up") and note.endswith(": 3 queries") for note in result.notes)


def test_a_service_that_outlasts_all_others_ends_however_often_their_servers_fail() -> None:
    plan = one_path(1e15, queries=5)
    idle = Device(name="e", servers=3, mtbf_s=0.01, repair_s=0.01)
    result = simulate(replace(plan, devices=(*plan.devices, idle)))
    assert result.refused == 0
    assert result.device_utilisation["d"] == pytest.approx(1.0)
    assert any("3 servers failed no more" in note for note in result.notes)


def test_a_failed_device_serves_nothing_and_keeps_its_place() -> None:
    plan = small_plan()
    failed = replace(plan, devices=(plan.devices[0], replace(plan.devices[1], state="failed")))
    for policy in ("mp-rec", "table-switch", "headroom", "split", "batching"):
        result = simulate(failed, policy=policy)
        assert result.device_utilisation["gpu"] == 0
        assert sum(share for name, share in result.path_share.items() if name.endswith("gpu")) == 0
        assert (result.fluid_bound_share or 0) <= 1 + 1e-9
    with pytest.raises(InputError, match="no path is left"):
        simulate(replace(failed, devices=tuple(replace(one, state="failed") for one in plan.devices)))


def test_what_cannot_be_served_says_so() -> None:
    plan = small_plan()
    sharded = replace(plan.paths[0], shards=(Shard(device="gpu", latency=plan.paths[0].latency),))
    with pytest.raises(InputError, match="takes no path with shards"):
        simulate(replace(plan, paths=(sharded,)), policy="split")
    with pytest.raises(InputError, match="too many to follow"):
        simulate(replace(plan, devices=(replace(plan.devices[0], mtbf_s=1e-9, repair_s=1e-9), plan.devices[1])))
    steep = replace(plan.paths[0], latency=LatencyTable(sizes=(1, 2), mean_ms=(1e-300, 1e10)))
    with pytest.raises(InputError, match="samples have no finite time"):
        simulate(replace(plan, paths=(steep,)), policy="batching")
    rule = compile_rule(as_policy("split"), plan)
    with pytest.raises(InputError, match="joins or splits queries"):
        start_run(compile_paths(plan).arrays, rule, qps=1.0, sla_ms=1.0)


def test_only_plans_that_need_it_go_through_the_general_loop() -> None:
    plan = small_plan()
    assert event_plan(plan, compile_rule(as_policy("mp-rec"), plan)) is None
    assert event_plan(plan, compile_rule(as_policy("batching"), plan)) is not None
