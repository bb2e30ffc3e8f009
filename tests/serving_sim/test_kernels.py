from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.errors import InputError
from serving_sim import kernels
from serving_sim.engine import SimulationOptions, trace_run
from serving_sim.kernels import Chunk, accounting, serving, steps
from serving_sim.paths import compile_paths
from serving_sim.plan import Device, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.policies import Entry, as_policy, routing_context, tiered_rule
from serving_sim.run import Run, start_run
from serving_sim.testing import small_plan
from serving_sim.workload import WorkloadStream, empty_chunk
from tests.serving_sim.reference import plans, serve


def drawn(plan: Plan) -> tuple[Run, Chunk]:
    tables, load = compile_paths(plan), plan.workload
    rule = as_policy(plan.policy).compile(routing_context(plan))
    chunk = empty_chunk(load.queries, len(tables.spreads))
    WorkloadStream(load, tables.spreads, plan.seed).fill(chunk, load.queries)
    return start_run(tables.arrays, rule, qps=load.qps, sla_ms=load.sla_ms, exact=load.queries), chunk


@given(plan=plans())
@settings(max_examples=60, deadline=None)
def test_every_query_is_served_as_the_obvious_simulator_serves_it(plan: Plan) -> None:
    run, chunk = drawn(plan)
    run.serve(chunk, plan.workload.queries)
    factors = chunk.factor_KN[run.paths.spread_P].T.tolist()
    expected = serve(plan, chunk.gap_N.tolist(), chunk.size_N.tolist(), factors)
    assert chunk.path_N.tolist() == [query.path for query in expected]
    np.testing.assert_allclose(chunk.arrival_ms_N, [query.arrival_ms for query in expected], rtol=1e-12)
    np.testing.assert_allclose(chunk.service_ms_N, [query.service_ms for query in expected], rtol=1e-12)
    np.testing.assert_allclose(chunk.start_ms_N, [query.start_ms for query in expected], rtol=1e-12)


@given(plan=plans())
@settings(max_examples=40, deadline=None)
def test_servers_serve_in_order_of_arrival_and_never_more_queries_than_servers(plan: Plan) -> None:
    traced = trace_run(plan)
    assert len(traced.path_N) == plan.workload.queries
    assert np.all(traced.start_ms_N >= traced.arrival_ms_N)
    for place, device in enumerate(plan.devices):
        here = np.array([plan.device_of(plan.paths[int(path)]) == place for path in traced.path_N])
        start_ms, finish_ms = traced.start_ms_N[here], traced.finish_ms_N[here]
        assert np.all(np.diff(start_ms) >= 0)
        under_way = [int(np.sum((start_ms <= moment) & (finish_ms > moment))) for moment in start_ms]
        assert max(under_way, default=0) <= device.servers


@given(plan=plans())
@settings(max_examples=25, deadline=None)
def test_the_chunk_size_changes_nothing(plan: Plan) -> None:
    whole, parts = trace_run(plan), trace_run(plan, options=SimulationOptions(chunk_queries=7))
    for part in fields(whole):
        assert np.array_equal(getattr(whole, part.name), getattr(parts, part.name))


@pytest.mark.parametrize("policy", ["mp-rec", "table-switch"])
@pytest.mark.parametrize("qps", [100.0, 600.0, 20_000.0])
def test_halves_served_side_by_side_are_served_as_one_query_after_the_other(qps: float, policy: str) -> None:
    plan = small_plan(queries=3_000, qps=qps, policy=PolicyChoice(name=policy))
    whole, parts = trace_run(plan), trace_run(plan, options=SimulationOptions(chunk_queries=127))
    for part in fields(whole):
        assert np.array_equal(getattr(whole, part.name), getattr(parts, part.name))


def serve_in_python(run: Run, chunk: Chunk, count: int) -> None:
    rule, path_E, queues, gap_ms = run.rule, run.rule.path_E, run.queues, run.gap_ms
    servers_D = run.paths.servers_D
    if rule.kind == kernels.FIXED:
        kernels.serve_fixed.py_func(chunk, count, gap_ms, path_E[0], run.paths, queues)
    elif run.steps is None:
        kernels.serve_chunk.py_func(chunk, count, gap_ms, rule, run.paths, queues, run.waiting)
    elif run.steps.margin_ms.size and servers_D.max() == 1:
        kernels.serve_pair.py_func(chunk, count, gap_ms, run.steps, queues)
    else:
        kernels.serve_steps.py_func(chunk, count, gap_ms, run.steps, servers_D, queues)


@given(plan=plans())
@settings(max_examples=25, deadline=None)
def test_compiled_code_does_what_its_python_says(plan: Plan) -> None:
    (compiled, chunk), (plain, twin) = drawn(plan), drawn(plan)
    count, prices_D, sums = plan.workload.queries, np.full(len(plan.devices), 0.01), np.zeros((2, 1))
    compiled.serve(chunk, count)
    serve_in_python(plain, twin, count)
    accounting.account_chunk.py_func(twin, count, 0, plain.sla_ms_C, plain.paths, plain.queues.busy_ms_D, plain.totals)
    kernels.dual_sum_chunk(chunk, count, 0, np.array([plan.workload.sla_ms]), prices_D, plain.paths, sums[0])
    kernels.dual_sum_chunk.py_func(twin, count, 0, np.array([plan.workload.sla_ms]), prices_D, plain.paths, sums[1])
    assert np.array_equal(chunk.path_N, twin.path_N)
    for ours, theirs in zip(compiled.totals, plain.totals, strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-12)
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12)


@given(plan=plans())
@settings(max_examples=40, deadline=None)
def test_all_loops_decide_as_the_rule_says(plan: Plan) -> None:
    (run, chunk), (other, twin) = drawn(plan), drawn(plan)
    count = plan.workload.queries
    run.serve(chunk, count)
    kernels.serve_chunk(twin, count, other.gap_ms, other.rule, other.paths, other.queues, other.waiting)
    assert np.array_equal(chunk.path_N, twin.path_N)
    assert np.array_equal(chunk.start_ms_N, twin.start_ms_N)


def test_refused_queries_count_as_violations_and_not_as_correct() -> None:
    plan = small_plan(queries=100, policy=PolicyChoice(name="static"))
    run, chunk = drawn(plan)
    run.serve(chunk, 100)
    run, _ = drawn(plan)
    chunk.path_N[::2] = kernels.REFUSAL
    accounting.account_chunk(chunk, 100, 0, run.sla_ms_C, run.paths, run.queues.busy_ms_D, run.totals)
    counts, accuracy = run.totals.counts, plan.paths[0].accuracy
    assert counts[kernels.COUNTED] == 100
    assert counts[kernels.REFUSED] == 50 <= counts[kernels.VIOLATIONS]
    assert run.totals.sums[kernels.CORRECT] == pytest.approx(chunk.size_N[1::2].sum() * accuracy)
    assert run.totals.histogram_B.sum() == 50
    assert run.queues.busy_ms_D[0] == pytest.approx(chunk.service_ms_N[1::2].sum())


def test_classes_have_their_own_limits_and_totals() -> None:
    plan = small_plan(queries=2_000, qps=300.0)
    tables, (_, chunk) = compile_paths(plan), drawn(plan)
    chunk.class_N[::2] = 1
    rule = as_policy("mp-rec").compile(routing_context(plan))
    limit_ms_CE = np.concatenate([rule.limit_ms_CE, np.where(np.isinf(rule.limit_ms_CE), np.inf, 0.0)])
    run = start_run(tables.arrays, rule._replace(limit_ms_CE=limit_ms_CE), qps=300.0, sla_ms=(10.0, 1e-3))
    run.serve(chunk, 2_000)
    accurate = np.array([path.representation != "table" for path in plan.paths])[chunk.path_N]
    assert accurate[chunk.class_N == 0].any()
    assert not accurate[chunk.class_N == 1].any()
    assert run.totals.counts_CF[:, kernels.COUNTED].tolist() == [1_000, 1_000]
    assert run.totals.counts_CF[1, kernels.VIOLATIONS] == 1_000
    assert run.totals.histogram_CB.sum(axis=1).tolist() == [1_000, 1_000]


def test_a_rule_for_other_classes_is_refused() -> None:
    plan = small_plan()
    rule = as_policy("mp-rec").compile(routing_context(plan))
    twice = rule._replace(limit_ms_CE=np.concatenate([rule.limit_ms_CE, rule.limit_ms_CE]))
    with pytest.raises(InputError, match="limits for 1 classes, but has 2"):
        start_run(compile_paths(plan).arrays, twice, qps=1.0, sla_ms=1.0)


def test_limits_that_cross_are_followed_entry_by_entry() -> None:
    plan = small_plan()
    arrays = compile_paths(plan).arrays
    entries = [Entry(path=0, limit_ms=2.0), Entry(path=1, limit_ms=50.0), Entry(path=0, tier=1)]
    rule = tiered_rule(entries, (1,) * 6)
    assert kernels.compile_steps(rule, arrays) is None


@given(service_ms=st.floats(1e-6, 1e6), limit_ms=st.floats(1e-6, 1e6))
def test_the_longest_wait_is_the_last_that_the_limit_allows(service_ms: float, limit_ms: float) -> None:
    wait_ms = steps._longest_wait_ms.py_func(service_ms, limit_ms)
    assert wait_ms == steps._longest_wait_ms(service_ms, limit_ms)
    if service_ms > limit_ms:
        assert wait_ms == -np.inf
    else:
        assert service_ms + wait_ms <= limit_ms < service_ms + np.nextafter(wait_ms, np.inf)


def test_helpers_do_what_their_python_says() -> None:
    free_ms_C = np.array([3.0, 1.0, 2.0, 0.0])
    assert serving._soonest(free_ms_C, 3) == serving._soonest.py_func(free_ms_C, 3) == 1
    rule_E = (np.array([1, 0]), np.array([0, 0]), np.array([0, 1]), np.array([5.0, np.inf]), np.zeros(2))
    for wait_ms, path in ((0.0, 1), (4.5, 0)):
        arguments = (rule_E, 8, 1.0, np.array([1.0 + wait_ms]), np.array([2.0, 1.0]))
        assert serving._first_tier(*arguments) == serving._first_tier.py_func(*arguments) == path


def test_the_fluid_sums_do_what_their_python_says() -> None:
    weight_R, device_P, prices_D, used = np.array([2.0, 3.0]), np.array([0, 1]), np.array([0.5, 1.0]), np.zeros((2, 2))
    worth_RP, service_RP = np.array([[4.0, 5.0], [1.0, 9.0]]), np.array([[2.0, 3.0], [np.inf, 6.0]])
    assert kernels.dual_gradient(weight_R, worth_RP, service_RP, device_P, prices_D, used[0]) == 15.0
    assert kernels.dual_gradient.py_func(weight_R, worth_RP, service_RP, device_P, prices_D, used[1]) == 15.0
    assert used.tolist() == [[4.0, 18.0], [4.0, 18.0]]
    service_RP[1, 0] = 7.0
    assert kernels.least_cost(weight_R, service_RP, device_P, prices_D, used[0]) == 12.5
    assert kernels.least_cost.py_func(weight_R, service_RP, device_P, prices_D, used[1]) == 12.5
    assert np.array_equal(used[0], used[1])


def test_an_idle_device_serves_in_exactly_the_service_time_however_late_the_hour() -> None:
    plan = small_plan(qps=0.001, queries=200)
    run, chunk = drawn(plan)
    run.serve(chunk, 200)
    assert np.array_equal(run.totals.exact_ms, chunk.service_ms_N)


def scattered(qps: float, queries: int) -> Plan:
    """Two servers and one beside it, each with a table whose service is exponential with a mean of 1 ms."""
    latency = LatencyTable(sizes=(1,), mean_ms=(1.0,), spread="exponential")
    paths = [Path(name=d, representation="table", device=d, accuracy=0.7, latency=latency) for d in ("a", "b")]
    sizes = Sizes(distribution="fixed", mean=1, maximum=1)
    return Plan(
        name="scattered",
        devices=(Device(name="a", servers=2), Device(name="b")),
        paths=tuple(paths),
        workload=Workload(qps=qps, sla_ms=10, queries=queries, sizes=sizes),
        policy=PolicyChoice(name="table-switch"),
    )


@given(changed=st.integers(0, 299), factor=st.floats(0, 50))
@settings(max_examples=40, deadline=None)
def test_routing_knows_no_service_time_before_the_query_is_done(changed: int, factor: float) -> None:
    (run, chunk), (other, twin) = drawn(scattered(2700, 300)), drawn(scattered(2700, 300))
    twin.factor_KN[:, changed] = factor
    run.serve(chunk, 300)
    other.serve(twin, 300)
    done_ms = chunk.start_ms_N[changed] + min(chunk.service_ms_N[changed], twin.service_ms_N[changed])
    before = chunk.arrival_ms_N <= done_ms
    assert np.array_equal(chunk.path_N[before], twin.path_N[before])


def test_the_expected_wait_is_what_is_left_and_what_waits_by_the_mean() -> None:
    for note, begin, wait_ms in (
        (kernels.note_query, kernels.start_waiting, kernels.expected_wait_ms),
        (kernels.note_query.py_func, kernels.start_waiting.py_func, kernels.expected_wait_ms.py_func),
    ):
        waiting = drawn(scattered(1, 1))[0].waiting
        note(1, 0, 0.0, 0.0, 2.0, waiting)
        for place in range(kernels.MOST_WAITING + 3):
            note(1, 0, 0.0, 5.0 + place, 1.0, waiting)
        assert wait_ms(1, 0.5, 1, waiting) == 1.5 + kernels.MOST_WAITING + 3
        assert wait_ms(1, 4.0, 1, waiting) == kernels.MOST_WAITING + 3
        begin(1, 6.0, waiting)
        assert wait_ms(1, 6.5, 1, waiting) == 0.5 + kernels.MOST_WAITING + 1
        begin(1, 1e9, waiting)
        assert (waiting.count_D[1], waiting.work_ms_D[1]) == (0, 0.0)
