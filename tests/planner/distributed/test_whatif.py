"""Each change changes what it says, and outcomes stand beside the scenario as it is."""

from dataclasses import replace

import pytest

from planner.distributed import EmbeddingTable, ShardingPlan
from planner.distributed.iteration import TrainingJob, perceptron
from planner.distributed.plan_difference import difference_of_phases, difference_of_plans
from planner.distributed.whatif import (
    Scenario,
    outcome_rows,
    planned,
    what_if,
    with_batch,
    with_collectives,
    with_dhe,
    with_network,
    with_nodes,
    with_table_dtype,
    with_tier,
)
from profiles.errors import InputError, UnknownNameError
from representations.specs import DheSpec
from tests.planner.distributed.iteration.placed import cluster_of, row_wise, table_wise

TABLES = tuple(EmbeddingTable(name=f"t{i}", rows=10_000, dim=64, pooling=4) for i in range(8))
SCENARIO = Scenario(
    job=TrainingJob(
        name="small", tables=TABLES, batch_per_rank=256, bottom=perceptron((13, 64)), top=perceptron((576, 1))
    ),
    cluster=cluster_of(2, 2, ddr_bytes=10**9),
)


def by_hand(scenario: Scenario) -> ShardingPlan:
    return table_wise(scenario.job.tables, scenario.cluster, batch=scenario.job.batch_per_rank)


def test_every_change_is_beside_the_scenario_as_it_is() -> None:
    outcomes = what_if(
        SCENARIO,
        {
            "batch": with_batch(512),
            "network": with_network(2.0),
            "half": with_collectives("float16", "bfloat16"),
            "one node": with_nodes(1),
            "fp16": with_table_dtype("float16"),
        },
        plan=by_hand,
    )
    base, batch, network, half, one_node, fp16 = outcomes
    assert base.name == "as it is"
    assert batch.time.samples == 2 * base.time.samples
    assert network.time.qps > base.time.qps
    assert half.time.qps > base.time.qps
    assert one_node.time.cluster.ranks == 2
    assert {table.dtype for table in fp16.plan.tables} == {"float16"}
    rows = outcome_rows(outcomes)
    assert [row["name"] for row in rows] == [one.name for one in outcomes]
    assert rows[0]["qps_change"] == 0
    assert rows[0]["most_changed"] is None
    assert rows[2]["most_changed"] in {"AlltoAll", "AlltoAll of gradients", "distribute ids"}


def test_a_tier_changes_by_its_name() -> None:
    changed = with_tier("ddr", bandwidth_bytes_per_s=1.0)(SCENARIO).cluster
    assert changed.tier("ddr").bandwidth_bytes_per_s == 1.0
    assert changed.tier("hbm") == SCENARIO.cluster.tier("hbm")
    with pytest.raises(UnknownNameError, match="known: ddr, hbm"):
        with_tier("ssd", bytes=1)(SCENARIO)


def test_a_dhe_takes_its_table_s_place_on_every_rank() -> None:
    spec = DheSpec(dim=1, k=8, widths=(16,))
    job = with_dhe(spec, ["t0", "t3"])(SCENARIO).job
    assert [table.name for table in job.tables] == ["t1", "t2", "t4", "t5", "t6", "t7"]
    assert job.per_id.flops_per_sample == 2 * 4 * 2 * (8 * 16 + 16 * 64)
    assert job.per_id.parameters == 2 * (9 * 16 + 17 * 64)
    assert job.local_ids_per_sample == 8


def test_without_tables_there_is_no_alltoall() -> None:
    spec = DheSpec(dim=1, k=64, widths=(32,))
    _, replaced = what_if(SCENARIO, {"dhe": with_dhe(spec)})
    assert replaced.time.phase("AlltoAll") is None
    assert replaced.time.phase("embeddings from ids") is not None
    assert replaced.time.phase("AllReduce of embeddings from ids") is not None
    assert replaced.plan.max_over_lower_bound == 1.0


def test_what_cannot_be_replaced_is_named() -> None:
    with pytest.raises(UnknownNameError, match="tables: unknown name 'none'"):
        with_dhe(DheSpec(dim=1), ["none"])(SCENARIO)
    with pytest.raises(InputError, match="there is none to replace"):
        with_dhe(DheSpec(dim=1))(replace(SCENARIO, job=replace(SCENARIO.job, tables=())))


def test_the_default_plan_places_every_table() -> None:
    plan = planned(SCENARIO)
    assert {table.name for table in plan.tables} == {table.name for table in TABLES}


def test_plans_differ_by_table_and_the_bytes_that_move() -> None:
    before = table_wise(TABLES[:3], SCENARIO.cluster)
    after = table_wise(TABLES[1:4], SCENARIO.cluster, ranks=[1, 3, 0])
    rows = {row["table"]: row for row in difference_of_plans(before, after)}
    assert {name: row["change"] for name, row in rows.items()} == {"t0": "removed", "t2": "moved", "t3": "added"}
    assert rows["t2"]["moved_bytes"] == TABLES[2].total_bytes
    assert rows["t0"]["moved_bytes"] == 0
    assert (rows["t2"]["scheme"], rows["t2"]["new_tiers"]) == ("table_wise", "hbm")


def test_rows_that_stay_are_not_moved() -> None:
    before, after = table_wise(TABLES[:1], SCENARIO.cluster), row_wise(TABLES[:1], SCENARIO.cluster)
    (row,) = difference_of_plans(before, after)
    assert row["moved_bytes"] == pytest.approx(0.75 * TABLES[0].total_bytes)
    assert (row["ranks"], row["new_ranks"]) == (1, 4)
    assert difference_of_plans(before, before) == []


def test_phases_that_only_one_has_count_as_nothing_in_the_other() -> None:
    whole, fast = what_if(SCENARIO, {"fast": with_network(10.0)}, plan=by_hand)
    for row in difference_of_phases(whole.time, fast.time):
        assert row["change_ms"] == pytest.approx(row["after_ms"] - row["before_ms"])
    rowed = what_if(SCENARIO, {}, plan=lambda one: row_wise(one.job.tables, one.cluster))[0]
    changes = {row["name"]: row for row in difference_of_phases(whole.time, rowed.time)}
    assert changes["AlltoAll"]["after_ms"] == 0
    assert changes["reduce-scatter"]["before_ms"] == 0
