"""Marks in time: on the CPU by the monotonic clock, on a GPU in the current stream."""

import time
from collections.abc import Callable
from typing import Any

import torch

from profiles.units import NS_PER_MS

__all__ = ["Stopwatch"]


class Stopwatch:
    """`mark()` costs as little as can be; times between marks are known after `wait()`."""

    def __init__(self, torch_name: str) -> None:
        self.is_cuda = torch_name.startswith("cuda")
        self.mark: Callable[[], Any] = _cuda_event if self.is_cuda else time.perf_counter_ns

    def wait(self) -> None:
        """Until all that was launched is done."""
        if self.is_cuda:
            torch.cuda.synchronize()

    def between_ms(self, start: Any, end: Any) -> float:
        """Milliseconds from one mark to another."""
        return float(start.elapsed_time(end)) if self.is_cuda else float(end - start) / NS_PER_MS


def _cuda_event() -> Any:
    cuda: Any = torch.cuda
    event = cuda.Event(enable_timing=True)
    event.record()
    return event
