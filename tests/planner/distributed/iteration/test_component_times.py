"""Layers have measured times where there are any, else the roofline, and say which."""

from dataclasses import replace

import pytest

from planner.distributed import EmbeddingTable, Placement, Shard
from planner.distributed.iteration import DenseStack, MeasuredTimes, TrainingJob, perceptron, predict_iteration
from planner.distributed.iteration.component_times import DenseCosts, roofline_cost
from planner.distributed.iteration.table_times import rank_components
from profiles.errors import InputError, UnknownNameError
from representations.embedding_components import linear
from representations.phases import backward_of, optimizer_of
from tests.planner.distributed.iteration.placed import cluster_of, table_wise
from tests.planner.distributed.iteration.profile_rows import profile

CLUSTER = cluster_of()
STACK = perceptron((16, 32, 8))
JOB = TrainingJob(name="dense", tables=(), batch_per_rank=64, top=STACK, compute_dtype="float32")


LAYERS = (linear(64, 16, 32), linear(64, 32, 8))


def test_a_roofline_is_the_greater_of_work_and_traffic_and_the_launches() -> None:
    slow = replace(CLUSTER, kernel_launch_s=1e-6)
    cost = roofline_cost(slow, "float32", flops=1e9, moved_bytes=1e6, launches=3)
    assert cost.seconds == pytest.approx(1e-4 + 3e-6)
    assert cost.limit == "matrix products"
    assert roofline_cost(slow, "float32", flops=1, moved_bytes=1e9, launches=1).limit == "device memory"
    assert roofline_cost(slow, "float32", flops=1, moved_bytes=1, launches=1).limit == "kernel launches"
    assert roofline_cost(slow, "float32", flops=0, moved_bytes=0, launches=0).limit == "nothing"
    with pytest.raises(UnknownNameError, match="known: float32, tf32"):
        roofline_cost(slow, "int8", flops=1, moved_bytes=1, launches=1)


def test_measured_layers_take_what_they_took() -> None:
    rows = [profile(LAYERS[0], 1.0), profile(LAYERS[1], 2.0), profile(LAYERS[1], 9.0, timestamp="0")]
    cost = DenseCosts(cluster=CLUSTER, job=JOB, times=MeasuredTimes(rows, "gpu")).forward(STACK)
    assert cost.seconds == pytest.approx(3e-3)
    assert cost.provenance == "measured"
    elsewhere = DenseCosts(cluster=CLUSTER, job=JOB, times=MeasuredTimes(rows, "other")).forward(STACK)
    assert elsewhere.provenance == "estimated"


def test_one_measured_layer_leaves_the_other_to_the_roofline() -> None:
    times = MeasuredTimes([profile(LAYERS[0], 1.0)], "gpu")
    cost = DenseCosts(cluster=CLUSTER, job=JOB, times=times).forward(STACK)
    assert cost.provenance == "partly measured"
    assert 1e-3 < cost.seconds < 1.1e-3
    backward = [profile(backward_of(LAYERS[1]), 5.0)]
    assert DenseCosts(cluster=CLUSTER, job=JOB, times=MeasuredTimes(backward, "gpu")).backward(STACK).seconds > 5e-3


def test_steps_are_measured_too_and_none_costs_nothing() -> None:
    steps = [profile(optimizer_of(layer, "sgd"), 1.0) for layer in LAYERS]
    costs = DenseCosts(cluster=CLUSTER, job=JOB, times=MeasuredTimes(steps, "gpu"))
    assert costs.step(STACK).seconds == pytest.approx(2e-3)
    assert DenseCosts(cluster=CLUSTER, job=JOB).step(STACK).provenance == "estimated"
    assert DenseCosts(cluster=CLUSTER, job=replace(JOB, dense_optimizer=None)).step(STACK).seconds == 0


def test_phases_say_where_their_times_come_from() -> None:
    times = MeasuredTimes([profile(layer, 1.0) for layer in LAYERS], "gpu")
    phases = {one.name: one.provenance for one in predict_iteration(JOB, table_wise((), CLUSTER), times=times).phases}
    assert phases["top MLP"] == "measured"
    assert phases["top MLP, gradients"] == "estimated"


def test_tables_of_a_rank_that_were_measured_take_what_they_took() -> None:
    tables = tuple(EmbeddingTable(name=f"t{i}", rows=1000, dim=16 + 16 * (i % 2), pooling=3) for i in range(3))
    plan, job = table_wise(tables, CLUSTER, batch=64), replace(JOB, tables=tables)
    components = rank_components(plan, 64)
    assert [len(components[rank]) for rank in (0, 1)] == [1, 1]
    assert components[0][0]["rows"] == 2000
    rows = [profile(components[0][0], 7.0)]
    partly = predict_iteration(job, plan, times=MeasuredTimes(rows, "gpu")).phase("look up")
    assert partly is not None
    assert partly.max_ms == pytest.approx(7.0)
    assert partly.provenance == "partly measured"
    rows += [profile(components[1][0], 1.0), *(profile(backward_of(components[i][0]), 2.0) for i in (0, 1))]
    whole = predict_iteration(job, plan, times=MeasuredTimes(rows, "gpu"))
    assert {one.name: one.provenance for one in whole.phases}["look up"] == "measured"
    assert {one.name: one.max_ms for one in whole.phases}["update tables"] == pytest.approx(2.0)


def test_tables_that_no_measured_kernel_reads_stay_estimated() -> None:
    odd = EmbeddingTable(name="odd", rows=10, dim=7)
    copied = EmbeddingTable(name="copied", rows=10, dim=8)
    base = table_wise((odd,), CLUSTER)
    copies = tuple(Shard("copied", rank, 0, 10, 0, 8, "hbm") for rank in (0, 1))
    both = (*base.placements, Placement(table=copied, scheme="data_parallel", shards=copies))
    assert rank_components(replace(base, placements=both), 64) == {}


def test_a_perceptron_counts_what_its_widths_say() -> None:
    assert STACK.flops_per_sample == 2 * (16 * 32 + 32 * 8)
    assert STACK.parameters == 17 * 32 + 33 * 8
    assert STACK.activations_per_sample == 16 + 32 + 32 + 8


@pytest.mark.parametrize(("widths", "message"), [((5,), "two or more"), ((5, 0), "each >= 1")])
def test_widths_of_no_layer_are_refused(widths: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        perceptron(widths)


def test_stacks_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="flops_per_sample: must be finite"):
        DenseStack(flops_per_sample=-1, parameters=0, layers=0)
    with pytest.raises(InputError, match="layers: must be >= 1 for 5 parameters"):
        DenseStack(flops_per_sample=1, parameters=5, layers=0)
    with pytest.raises(InputError, match="widths: must be 3 for 2 layers, but got 2"):
        DenseStack(flops_per_sample=1, parameters=5, layers=2, widths=(1, 2))


def test_jobs_that_cannot_be_are_refused() -> None:
    for changes, message in (
        ({"batch_per_rank": 0}, "batch_per_rank: must be >= 1"),
        ({"local_ids_per_sample": -1.0}, "local_ids_per_sample: must be finite"),
        ({"dense_features": -1}, "dense_features must be >= 0"),
        ({"forward_dtype": "fp8"}, "forward_dtype: unknown name 'fp8'"),
        ({"dense_optimizer": "lamb"}, "dense_optimizer: unknown name 'lamb'"),
        ({"compute_dtype": "fp8"}, "compute_dtype: unknown name 'fp8'"),
    ):
        with pytest.raises(InputError, match=message):
            replace(JOB, **changes)
