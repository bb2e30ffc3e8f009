"""The collectives that one iteration of a plan calls, with their exact sizes: a trace to replay."""

from collections.abc import Iterator

from planner.distributed.comms.calls import CollectiveCall
from planner.distributed.iteration.embedding_traffic import embedding_traffic
from planner.distributed.iteration.training_job import BYTES_PER_NUMBER, TrainingJob
from planner.distributed.network import Collective
from planner.distributed.plan import ShardingPlan

__all__ = ["plan_calls"]

_FLOAT_BYTES = 4


def plan_calls(job: TrainingJob, plan: ShardingPlan) -> tuple[CollectiveCall, ...]:
    """In their order, sized as the rank that sends most: ids, pooled embeddings, their gradients, dense gradients.

    Dense gradients are those of one stack of layers a call.
    """
    return tuple(
        CollectiveCall(collective=collective, message_bytes=round(size))
        for collective, size in _messages(job, plan)
        if round(size)
    )


def _messages(job: TrainingJob, plan: ShardingPlan) -> Iterator[tuple[Collective, float]]:
    traffic = embedding_traffic(
        plan,
        job.batch_per_rank,
        forward_bytes=BYTES_PER_NUMBER[job.forward_dtype],
        backward_bytes=BYTES_PER_NUMBER[job.backward_dtype],
    )
    for message in (*traffic.input, *traffic.forward, *traffic.backward):
        yield message.collective, float(message.bytes_R.max())
    for stack in (job.top, job.bottom, job.per_id):
        yield "all_reduce", float(stack.parameters * _FLOAT_BYTES)
