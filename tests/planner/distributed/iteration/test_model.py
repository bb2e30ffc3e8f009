"""Iterations against the published equations, and what must hold of any."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.distributed import Cluster, EmbeddingTable, Placement, Shard, ShardingPlan, get_cluster
from planner.distributed.hbm_cache import LoggedReuse
from planner.distributed.iteration import (
    DenseStack,
    TrainingJob,
    device_memory,
    perceptron,
    predict_iteration,
    schedule_tasks,
)
from planner.distributed.iteration.embedding_traffic import embedding_traffic
from planner.distributed.iteration.iteration_tasks import iteration_tasks
from planner.distributed.paper_models import Assumptions, paper_job
from profiles.errors import InputError, UnknownNameError
from tests.planner.distributed.iteration.placed import cluster_of, network_of, row_wise, table_wise

TABLES = tuple(EmbeddingTable(name=f"t{i}", rows=1000, dim=32 * (1 + i % 2), pooling=2 + i) for i in range(6))
JOB = TrainingJob(
    name="small", tables=TABLES, batch_per_rank=100, bottom=perceptron((13, 256, 64)), top=perceptron((128, 256, 1))
)


def constant_zionex() -> Cluster:
    """The constant bandwidths that the published equations have."""
    network = network_of(all_to_all=7e9, all_reduce=60e9, all_gather=120e9, reduce_scatter=120e9)
    return replace(get_cluster("zionex"), kernel_launch_s=0.0, inter=network)


@pytest.mark.parametrize(
    ("model", "tables", "expected_qps"),
    [("A", 1024, 1.71e6), ("A", 2048, 0.98e6), ("I", 512, 2.98e6), ("F", 64, 1.79e6)],
)
def test_constant_bandwidths_give_what_the_published_equations_do(model: str, tables: int, expected_qps: float) -> None:
    assumptions = Assumptions(tables=tables, dense_parameters="flops")
    job = replace(paper_job(model, assumptions), dense_optimizer=None)
    # Without activations and the distribution of ids, which the equations leave out.
    bare = {name: replace(getattr(job, name), activations_per_sample=0.0) for name in ("bottom", "top")}
    job = replace(job, **bare)
    plan = (row_wise if model == "F" else table_wise)(job.tables, constant_zionex(), batch=512)
    traffic = embedding_traffic(plan, 512, forward_bytes=2, backward_bytes=2)
    issued = iteration_tasks(job, plan, traffic).tasks
    seconds = schedule_tasks([task for task in issued if task.phase != "input"]).seconds
    # Rows are read in whole sectors here, 192 bytes for 184.
    assert 512 * 128 / seconds == pytest.approx(expected_qps, rel=0.025)


def test_a_rank_with_more_makes_the_others_wait() -> None:
    cluster = cluster_of()
    balanced = predict_iteration(JOB, table_wise(TABLES, cluster))
    skewed = predict_iteration(JOB, table_wise(TABLES, cluster, ranks=[0] * 6))
    assert skewed.iteration_ms > balanced.iteration_ms
    look_up = skewed.phase("look up")
    assert look_up is not None
    assert look_up.max_ms > 1.9 * look_up.mean_ms
    waits = [row["waiting_ms"] for row in skewed.timeline_rows((1,)) if row["task"] == "AlltoAll"]
    assert waits[0] > 0


def test_exposed_communication_is_below_the_serial_sum_and_shares_are_shares() -> None:
    time = predict_iteration(JOB, table_wise(TABLES, cluster_of(2, 2)))
    assert 0 < time.exposed_comm_ms < time.serial_comm_ms
    assert 0 < time.exposed_comm_share < 1
    assert sum(phase.critical_ms for phase in time.phases) == pytest.approx(time.iteration_ms)
    assert sum(phase.exposed_ms for phase in time.phases if phase.stream != "host link") >= time.exposed_comm_ms
    assert time.samples == 400
    assert time.qps == pytest.approx(400 / time.iteration_ms * 1e3)


def test_pipelined_input_is_hidden_and_input_in_turn_is_not() -> None:
    plan = table_wise(TABLES, cluster_of())
    ahead, in_turn = (predict_iteration(replace(JOB, is_input_pipelined=flag), plan) for flag in (True, False))
    # A rank that waits for another one may copy meanwhile.
    assert ahead.exposed_host_ms <= ahead.waiting_ms
    assert in_turn.exposed_host_ms > 10 * ahead.exposed_host_ms
    assert in_turn.iteration_ms > ahead.iteration_ms


def test_input_that_takes_longer_than_all_else_sets_the_pace() -> None:
    cluster = replace(cluster_of(), host_to_device_bytes_per_s=1e6)
    time = predict_iteration(JOB, table_wise(TABLES, cluster))
    assert [row["task"] for row in time.critical_rows()] == ["copy input"]


def test_precision_on_the_network_halves_messages() -> None:
    plan = row_wise(TABLES, cluster_of())
    whole, half = (
        predict_iteration(replace(JOB, forward_dtype=dtype, backward_dtype=dtype), plan)
        for dtype in ("float32", "bfloat16")
    )
    for name in ("reduce-scatter", "all-gather of gradients"):
        before, after = whole.phase(name), half.phase(name)
        assert before is not None
        assert after is not None
        assert after.max_ms == pytest.approx(before.max_ms / 2)


def test_transfers_in_turn_reduce_the_top_s_gradients_before_those_of_tables_are_sent() -> None:
    plan = table_wise(TABLES, cluster_of(2, 2))
    time = predict_iteration(replace(JOB, is_network_shared=True), plan)
    starts = {row["task"]: row["start_ms"] for row in time.timeline_rows((0,))}
    assert starts["AllReduce of top MLP"] < starts["AlltoAll of gradients"] < starts["AllReduce of bottom MLP"]


def test_tables_outside_fast_memory_are_fetched_as_far_as_they_miss() -> None:
    job = replace(JOB, bottom=DenseStack(flops_per_sample=1e6, parameters=1, layers=1))
    cluster = cluster_of(hbm_bytes=100_000 + round(device_memory(job).total_bytes), ddr_bytes=10_000_000)
    even, skewed = (tuple(replace(table, rows=10_000, zipf=zipf) for table in TABLES) for zipf in (None, 1.2))
    times = [
        predict_iteration(replace(job, tables=tables), table_wise(tables, cluster, tier="ddr"))
        for tables in (even, skewed)
    ]
    fetched = [time.phase("fetch rows from ddr") for time in times]
    assert fetched[0] is not None
    assert fetched[1] is not None
    assert fetched[1].max_ms < fetched[0].max_ms / 2
    assert all(rate > 0.5 for rate in times[1].hit_rates.values())
    assert max(times[0].hit_rates.values()) < 0.1


def test_a_log_of_ids_says_how_often_a_cached_table_hits() -> None:
    cluster = cluster_of(hbm_bytes=600_000, ddr_bytes=10_000_000)
    tables = tuple(replace(table, rows=10_000) for table in TABLES[:2])
    plan, job = table_wise(tables, cluster, tier="ddr"), TrainingJob(name="cached", tables=tables, batch_per_rank=100)
    often = LoggedReuse.from_log(np.tile(np.arange(50), 100))
    time = predict_iteration(job, plan, reuse={"t0": often})
    assert time.hit_rates["t0"] == pytest.approx(0.99)
    assert time.hit_rates["t1"] < 0.5


def test_hierarchical_and_replicated_tables_have_collectives_of_their_own() -> None:
    cluster = cluster_of(2, 2)
    first, second = TABLES[:2]
    halves = tuple(Shard(first.name, rank, 500 * rank, 500 * (rank + 1), 0, first.dim, "hbm") for rank in (0, 1))
    copies = tuple(Shard(second.name, rank, 0, 1000, 0, second.dim, "hbm") for rank in range(4))
    base = table_wise((), cluster)
    plan = replace(
        base,
        placements=(
            Placement(table=first, scheme="table_row_wise", shards=halves),
            Placement(table=second, scheme="data_parallel", shards=copies),
        ),
    )
    time = predict_iteration(replace(JOB, tables=(first, second)), plan)
    names = {phase.name for phase in time.phases}
    assert {"reduce-scatter in nodes", "AlltoAll", "all-gather of gradients in nodes"} <= names
    reduced = time.phase("AllReduce of replicated tables")
    assert reduced is not None
    assert reduced.max_ms == pytest.approx(1000 * second.dim * 4 / 10e9 * 1e3)


def test_one_rank_has_no_network() -> None:
    time = predict_iteration(JOB, table_wise(TABLES, cluster_of(1, 1)))
    assert time.serial_comm_ms == 0
    assert time.hidden_comm_share == 1
    assert time.cost_per_million_samples is None
    priced = replace(cluster_of(1, 1), price_per_device_hour=2.0)
    paid = predict_iteration(JOB, table_wise(TABLES, cluster_of(1, 1)), priced)
    assert paid.cost_per_million_samples == pytest.approx(2 / 3600 / time.qps * 1e6)


def test_gradients_go_in_buckets_while_the_backward_pass_goes_on() -> None:
    plan = table_wise(TABLES, cluster_of())
    large = replace(JOB, top=DenseStack(flops_per_sample=1e9, parameters=40_000_000, layers=8))
    whole = predict_iteration(replace(large, gradient_bucket_bytes=10**9), plan)
    parts = predict_iteration(large, plan)
    assert parts.iteration_ms < whole.iteration_ms
    assert len([row for row in parts.timeline_rows((0,)) if row["task"].startswith("AllReduce of top")]) == 7
    assert len([phase for phase in parts.phases if phase.name.startswith("AllReduce of top")]) == 1


def test_the_answer_is_plain_data() -> None:
    body = predict_iteration(JOB, table_wise(TABLES, cluster_of())).to_object()
    assert {"iteration_ms", "qps", "exposed_comm_share", "phases", "critical_path"} <= body.keys()
    assert {"limit", "provenance"} <= body["phases"][0].keys()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (TABLES[:5], r"places t5, which job small does not have"),
        ((*TABLES, EmbeddingTable(name="new", rows=1, dim=4)), r"does not place new of job small"),
        ((replace(TABLES[0], rows=5), *TABLES[1:]), r"another table of the name t0"),
    ],
)
def test_a_plan_of_other_tables_is_refused(tables: tuple[EmbeddingTable, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        predict_iteration(replace(JOB, tables=tables), table_wise(TABLES, cluster_of()))


def test_another_cluster_must_have_as_many_ranks_and_a_rate_for_the_dtype() -> None:
    plan = table_wise(TABLES, cluster_of())
    with pytest.raises(InputError, match=r"the plan is for 1 x 2 devices, not 2 x 2"):
        predict_iteration(JOB, plan, cluster_of(2, 2))
    with pytest.raises(UnknownNameError, match="unknown name 'int8'; known: float32, tf32"):
        predict_iteration(replace(JOB, compute_dtype="int8"), plan)
    with pytest.raises(InputError, match="neither tables nor layers"):
        predict_iteration(TrainingJob(name="none", tables=(), batch_per_rank=1), table_wise((), cluster_of()))


@st.composite
def jobs_and_plans(draw: st.DrawFn) -> tuple[TrainingJob, ShardingPlan]:
    tables = tuple(
        EmbeddingTable(
            name=f"t{i}",
            rows=draw(st.integers(9, 10**6)),
            dim=4 * draw(st.integers(1, 64)),
            pooling=draw(st.floats(1, 50)),
        )
        for i in range(draw(st.integers(1, 6)))
    )
    cluster = cluster_of(
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
        network=network_of(draw(st.floats(1e6, 1e12)), draw(st.floats(0, 1e-3))),
        launch_s=1e-6,
    )
    job = replace(
        JOB,
        tables=tables,
        batch_per_rank=draw(st.integers(1, 4096)),
        lookups_beside_dense=draw(st.booleans()),
        is_network_shared=draw(st.booleans()),
        is_input_pipelined=draw(st.booleans()),
        interaction_flops_per_sample=1e4,
    )
    place = draw(st.sampled_from([table_wise, row_wise]))
    return job, place(tables, cluster)


@settings(max_examples=25, deadline=None)
@given(jobs_and_plans(), st.floats(1.0, 1e3))
def test_a_larger_network_bandwidth_never_slows_an_iteration(
    drawn: tuple[TrainingJob, ShardingPlan], factor: float
) -> None:
    job, plan = drawn
    cluster = plan.cluster
    faster = replace(cluster, intra=cluster.intra.faster(factor), inter=cluster.inter.faster(factor))
    before, after = predict_iteration(job, plan), predict_iteration(job, plan, faster)
    assert after.iteration_ms <= before.iteration_ms * (1 + 1e-12)
    assert before.exposed_comm_ms <= before.serial_comm_ms * (1 + 1e-9)


@settings(max_examples=12, deadline=None)
@given(jobs_and_plans())
def test_renaming_ranks_within_nodes_and_tables_changes_nothing(
    drawn: tuple[TrainingJob, ShardingPlan],
) -> None:
    job, plan = drawn
    devices = plan.cluster.devices_per_node
    renamed = {rank: rank // devices * devices + (rank % devices + 1) % devices for rank in range(plan.cluster.ranks)}
    placements = tuple(
        Placement(
            table=replace(one.table, name=f"x{one.table.name}"),
            scheme=one.scheme,
            shards=tuple(shard._replace(table=f"x{shard.table}", rank=renamed[shard.rank]) for shard in one.shards),
        )
        for one in reversed(plan.placements)
    )
    other = replace(job, tables=tuple(placement.table for placement in placements))
    before = predict_iteration(job, plan)
    after = predict_iteration(other, replace(plan, placements=placements))
    assert after.iteration_ms == pytest.approx(before.iteration_ms, rel=1e-9)
    np.testing.assert_allclose(after.exposed_comm_ms, before.exposed_comm_ms, rtol=1e-6, atol=1e-12)
