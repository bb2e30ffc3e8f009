from dataclasses import replace

import pytest

from planner.distributed import EmbeddingTable
from planner.distributed.iteration import DenseStack, TrainingJob, device_memory

STACK = DenseStack(flops_per_sample=1e6, parameters=1000, layers=2, activations_per_sample=50.0)
JOB = TrainingJob(
    name="by hand",
    tables=(EmbeddingTable(name="t", rows=10, dim=16, pooling=3.0),),
    batch_per_rank=10,
    bottom=STACK,
    top=STACK,
    compute_dtype="float32",
)


def test_layers_activations_and_buffers_by_hand() -> None:
    held = device_memory(JOB)
    assert held.layer_bytes == 2000 * 2 * 4
    assert held.activation_bytes == 10 * 100 * 4
    # Ids and lengths of two batches, pooled embeddings and gradients, sent and received.
    assert held.buffer_bytes == 10 * 2 * (2 * (3 * 8 + 4) + 16 * (4 + 4))
    assert held.total_bytes == held.layer_bytes + held.activation_bytes + held.buffer_bytes


@pytest.mark.parametrize(("optimizer", "values"), [(None, 2), ("sgd", 2), ("adagrad", 3), ("adam", 4)])
def test_an_optimizer_keeps_its_moments_beside_weight_and_gradient(optimizer: str | None, values: int) -> None:
    job = replace(JOB, dense_optimizer=optimizer)  # type: ignore[arg-type]  # one of its literals
    assert device_memory(job).layer_bytes == 2000 * values * 4


def test_less_precision_takes_smaller_buffers() -> None:
    half = replace(JOB, forward_dtype="float16", backward_dtype="bfloat16")
    assert device_memory(JOB).buffer_bytes - device_memory(half).buffer_bytes == 10 * 2 * 16 * 4
