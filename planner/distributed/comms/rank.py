"""What one rank does: join the group, make the calls, time them together with the others.

    torchrun --nnodes 16 --nproc-per-node 8 -m planner.distributed.comms --out comms.json

runs it on every device of a cluster; `launching` runs it on this machine.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import distributed as dist

from planner.distributed.comms.calls import CollectiveCall
from planner.distributed.comms.job import CallTime, CommsJob
from planner.distributed.comms.result import CommsResult

__all__ = ["joined", "run_job"]


@contextmanager
def joined(store: Path | None = None) -> Iterator[str]:
    """The group of all ranks that the environment names (RANK, WORLD_SIZE), as torchrun sets it; gives its backend.

    NCCL where there are GPUs, gloo elsewhere. `store` is a file through which ranks of one machine meet, instead of a
    port.
    """
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if backend == "nccl":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group(
        backend,
        init_method="env://" if store is None else store.absolute().as_uri(),
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    try:
        yield backend
        dist.barrier()
    finally:
        dist.destroy_process_group()


def run_job(job: CommsJob) -> CommsResult:
    """Make the job's calls in the group that was joined; every rank gets the same result."""
    device = torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")
    per_node = int(os.environ.get("LOCAL_WORLD_SIZE", dist.get_world_size()))
    return CommsResult(
        backend="nccl" if device.type == "cuda" else "gloo",
        nodes=max(1, dist.get_world_size() // per_node),
        devices_per_node=per_node,
        fixed=tuple(_timed([call], job.repeats, device)[0] for call in job.fixed),
        replayed=tuple(_timed(list(job.replay), job.repeats, device)),
    )


def _timed(calls: list[CollectiveCall], repeats: int, device: torch.device) -> list[CallTime]:
    """The calls in their order, `repeats` times and once before to warm up; all ranks start each call together."""
    if not calls:
        return []
    prepared: dict[CollectiveCall, tuple[Callable[[], object], int]] = {
        call: _prepare(call, device) for call in dict.fromkeys(calls)
    }
    seconds = torch.zeros(repeats + 1, len(calls), dtype=torch.float64, device=device)
    for repeat in range(repeats + 1):
        for index, call in enumerate(calls):
            seconds[repeat, index] = _seconds(prepared[call][0], device)
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
    low, median, high = np.quantile(seconds[1:].cpu().numpy() * 1e3, (0.25, 0.5, 0.75), axis=0)
    return [
        CallTime(
            collective=call.collective,
            message_bytes=prepared[call][1],
            low_ms=float(low[index]),
            median_ms=float(median[index]),
            high_ms=float(high[index]),
        )
        for index, call in enumerate(calls)
    ]


def _seconds(make_call: Callable[[], object], device: torch.device) -> float:
    dist.barrier()
    _finish(device)
    start = time.perf_counter()
    make_call()
    _finish(device)
    return time.perf_counter() - start


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _prepare(call: CollectiveCall, device: torch.device) -> tuple[Callable[[], object], int]:
    """What makes the call on buffers of its own, and the bytes that it moves."""
    ranks = dist.get_world_size()
    # Sums of bytes are slower than those of floats, and nobody trains in bytes.
    dtype = torch.float32 if call.message_bytes % (4 * ranks) == 0 else torch.uint8
    part = -(-call.message_bytes // (ranks * dtype.itemsize))
    whole = torch.ones(part * ranks, dtype=dtype, device=device)
    other = torch.empty_like(whole)
    piece = torch.ones(part, dtype=dtype, device=device)
    calls: dict[str, Callable[[], object]] = {
        "all_gather": lambda: dist.all_gather_single(other, piece),
        "all_reduce": lambda: dist.all_reduce(whole),
        "all_to_all": lambda: dist.all_to_all_single(other, whole),
        "reduce_scatter": lambda: dist.reduce_scatter_single(piece, whole),
    }
    return calls[call.collective], whole.numel() * dtype.itemsize
