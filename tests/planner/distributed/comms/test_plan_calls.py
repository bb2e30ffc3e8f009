from dataclasses import replace

from planner.distributed import EmbeddingTable, get_cluster
from planner.distributed.comms.plan_calls import plan_calls
from planner.distributed.dense_layers import layers_from_totals
from planner.distributed.iteration import TrainingJob
from tests.planner.distributed.interop.small_plans import placed, plan_of, small_cluster


def test_a_plan_s_messages_have_their_exact_sizes() -> None:
    plan = plan_of(
        small_cluster(1, 2),
        placed("table", "table_wise", 50, 8, (1, 0, 50, 0, 8)),
        placed("rows", "row_wise", 40, 4, (0, 0, 20, 0, 4), (1, 20, 40, 0, 4)),
    )
    layers = layers_from_totals(0.002, 2)
    job = TrainingJob(
        name="job", tables=plan.tables, batch_per_rank=16, bottom=layers.bottom, top=layers.top, forward_dtype="float16"
    )
    calls = [(call.collective, call.message_bytes) for call in plan_calls(job, plan)]
    # 32 samples of all ranks, 8 columns in 2 bytes forward and 4 backward; rows by partial sums of 4 columns.
    assert ("all_to_all", 32 * 8 * 2) in calls
    assert ("all_to_all", 32 * 8 * 4) in calls
    assert ("reduce_scatter", 32 * 4 * 2) in calls
    assert ("all_gather", 32 * 4 * 4) in calls
    assert calls.count(("all_reduce", 500 * 4)) == 2


def test_copies_send_their_gradients_alone() -> None:
    cluster = replace(get_cluster("local-gloo"), devices_per_node=2)
    plan = plan_of(cluster, placed("copy", "data_parallel", 10, 8, (0, 0, 10, 0, 8), (1, 0, 10, 0, 8)))
    job = TrainingJob(name="job", tables=plan.tables, batch_per_rank=16)
    assert [(call.collective, call.message_bytes) for call in plan_calls(job, plan)] == [("all_reduce", 10 * 8 * 4)]
    assert plan.tables == (EmbeddingTable(name="copy", rows=10, dim=8, pooling=3.0),)
