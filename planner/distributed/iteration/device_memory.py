"""What training takes on every device beside the tables: layers, activations, and buffers of what is sent."""

from dataclasses import dataclass

from planner.distributed.input_distribution import ID_BYTES, LENGTH_BYTES
from planner.distributed.iteration.training_job import BYTES_PER_NUMBER, TrainingJob

__all__ = ["DeviceMemory", "device_memory"]

# float32 values per parameter that every rank holds: weight and gradient, then the optimizer's moments.
_VALUES_HELD = {None: 2, "sgd": 2, "adagrad": 3, "adam": 4}
_FLOAT_BYTES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceMemory:
    """Bytes on one device: `layer_bytes` of weights, gradients and optimizer state, `activation_bytes` that the
    backward pass needs again, and `buffer_bytes` of ids, pooled embeddings and their gradients, as sent and received.
    """

    layer_bytes: float
    activation_bytes: float
    buffer_bytes: float

    @property
    def total_bytes(self) -> float:
        """All of it."""
        return self.layer_bytes + self.activation_bytes + self.buffer_bytes


def device_memory(job: TrainingJob) -> DeviceMemory:
    """What the job keeps on each device.

    Buffers are those of a rank that sends as much as it receives; ids are those of two batches where input is
    pipelined.
    """
    stacks = (job.bottom, job.top, job.per_id)
    numbers = sum(stack.activations_per_sample for stack in stacks) + job.interaction_numbers_per_sample
    columns = sum(table.dim for table in job.tables)
    ids = job.local_ids_per_sample + sum(table.pooling for table in job.tables)
    batches = 2 if job.is_input_pipelined else 1
    input_bytes = batches * (ids * ID_BYTES + len(job.tables) * LENGTH_BYTES)
    pooled_bytes = columns * (BYTES_PER_NUMBER[job.forward_dtype] + BYTES_PER_NUMBER[job.backward_dtype])
    return DeviceMemory(
        layer_bytes=float(job.dense_parameters * _VALUES_HELD[job.dense_optimizer] * _FLOAT_BYTES),
        activation_bytes=float(job.batch_per_rank * numbers * BYTES_PER_NUMBER[job.compute_dtype]),
        buffer_bytes=float(job.batch_per_rank * 2 * (input_bytes + pooled_bytes)),
    )
