from dataclasses import replace

import pytest

from planner.distributed import EmbeddingTable, TableConstraint, get_cluster
from planner.distributed.comms import CallTime, CommsResult
from planner.distributed.interop import export_plan
from planner.distributed.iteration import TrainingJob
from planner.distributed.shard_answer import (
    answer_request,
    measure_network,
    memory_rows,
    scheme_rows,
    with_comms,
    with_outlook,
)
from planner.distributed.shard_request import ShardRequest
from planner.distributed.whatif import Scenario
from profiles.errors import InputError

TABLES = tuple(EmbeddingTable(name=f"t{i}", rows=10_000 * (i + 1), dim=64, pooling=5.0) for i in range(5))
CLUSTER = replace(get_cluster("zionex"), nodes=2, devices_per_node=2)


def request(**changes: object) -> ShardRequest:
    job = TrainingJob(name="job", tables=TABLES, batch_per_rank=128)
    asked = ShardRequest(name="job", scenario=Scenario(job=job, cluster=CLUSTER))
    return replace(asked, **changes)  # type: ignore[arg-type] # fields of the request


def test_schemes_and_memory_account_for_every_table() -> None:
    answer = answer_request(request())
    plan, rows = answer.plan, memory_rows(answer.plan, answer.time.job)
    assert sum(row["tables"] for row in scheme_rows(plan)) == len(TABLES)
    held = sum(row["held_bytes"] for row in rows)
    assert held == sum(row["bytes"] for row in scheme_rows(plan)) >= sum(table.total_bytes for table in TABLES)
    assert all(row["fullest_bytes"] + row["other_bytes"] <= row["device_bytes"] for row in rows)
    assert rows[0]["other_bytes"] > 0


def test_what_ifs_may_take_tables_away_that_constraints_name() -> None:
    asked = request(constraints=(TableConstraint(table="t0", ranks=(1,)),), what_if=("dhe=t0", "dhe=all"))
    kept, one, none = answer_request(asked).outcomes
    assert kept.plan.placement("t0").ranks == (1,)
    assert (len(one.plan.placements), len(none.plan.placements)) == (4, 0)
    assert none.time.iteration_ms > 0
    with pytest.raises(InputError, match="constraint on shop"):
        answer_request(request(constraints=(TableConstraint(table="shop"),)))


def test_what_a_what_if_lacks_of_memory_is_said_with_its_name() -> None:
    hot = tuple(replace(table, pooling=20_000.0) for table in TABLES)
    asked = request(scenario=Scenario(job=TrainingJob(name="job", tables=hot, batch_per_rank=128), cluster=CLUSTER))
    for text in ("dhe=all", "hbm_bytes=1", "hbm_bytes=300MB,ddr_bytes=1"):
        with pytest.raises(InputError, match=f"what-if {text}: .*hbm"):
            answer_request(replace(asked, what_if=(text,)))


def test_a_plan_for_torchrec_can_be_exported() -> None:
    large = tuple(replace(table, rows=10**8) for table in TABLES)
    job = TrainingJob(name="job", tables=large, batch_per_rank=128)
    asked = request(scenario=Scenario(job=job, cluster=CLUSTER), for_torchrec=True)
    plan = answer_request(asked).plan
    assert len(export_plan(plan).tables) == len(TABLES)
    assert "Only cuts that torchrec runs rightly" in plan.assumptions[-1]


def test_the_outlook_says_why_there_is_no_curve() -> None:
    pinned = request(constraints=(TableConstraint(table="t0", ranks=(3,)),))
    answer = with_outlook(answer_request(pinned))
    assert (answer.scaling, len(answer.notes)) == ((), 1)
    assert answer.notes[0].startswith("no scaling curve: constraint on t0: ranks: must be in 0..1, but got 3")
    assert len(answer.sensitivity) > 5


def test_only_this_machine_s_network_is_measured_here() -> None:
    with pytest.raises(InputError, match="cluster zionex has 2 nodes"):
        measure_network(request())


def test_a_network_measured_on_other_ranks_is_said_not_to_be_used() -> None:
    time = CallTime(collective="all_reduce", message_bytes=1024, median_ms=1.0, low_ms=1.0, high_ms=1.0)
    answer = answer_request(request())
    few, all_ranks = (
        with_comms(
            answer, answer.request, CommsResult(backend="gloo", nodes=nodes, devices_per_node=devices, fixed=(time,))
        )
        for nodes, devices in ((1, 1), (2, 2))
    )
    assert few.notes[-1].startswith("the network was measured on 1 x 1 ranks, over which no collective of 2 x 2 runs")
    assert all_ranks.notes == answer.notes
