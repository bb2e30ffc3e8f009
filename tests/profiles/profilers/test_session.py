from types import SimpleNamespace
from typing import Any

import pytest
import torch

from profiles.profilers.session import profiler_session, recorded_allocations, recorded_events


class OlderEvent:
    """As an event is where torch does not tell its kind."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        if name == "activity_type":
            raise AttributeError(name)
        return getattr(self._raw, name)


class Launched:
    """What a session on a GPU has beside operators: launches, kernels, and the device's copies of ranges."""

    def __init__(self, name: str, device: str, kind: str, *, is_range: bool = False) -> None:
        self.values = {
            "name": name, "device_type": SimpleNamespace(name=device), "activity_type": kind,
            "is_user_annotation": is_range,
            "start_ns": 5, "duration_ns": 3, "device_index": 0, "start_thread_id": 1, "correlation_id": 7,
            "linked_correlation_id": 4, "sequence_nr": -1,
        }  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        return lambda: self.values[name]


def session_of(*events: Any) -> Any:
    return SimpleNamespace(profiler=SimpleNamespace(kineto_results=SimpleNamespace(events=lambda: list(events))))


ON_A_GPU = (
    Launched("aten::mm", "CPU", "cpu_op"),
    Launched("cudaLaunchKernel", "CPU", "cuda_runtime"),
    Launched("cuLaunchKernelEx", "CPU", "cuda_driver"),
    Launched("[memory]", "CPU", "cpu_instant_event"),
    Launched("recplan module 1: a", "CUDA", "gpu_user_annotation", is_range=True),
    Launched("gemm", "CUDA", "kernel"),
)


@pytest.mark.parametrize("is_older", [False, True])
def test_only_operators_ranges_and_what_a_device_does_are_events(*, is_older: bool) -> None:
    raw = [OlderEvent(event) if is_older else event for event in ON_A_GPU]
    operator, kernel = sorted(recorded_events(session_of(*raw)), key=lambda event: event.name)
    assert (operator.name, operator.device, operator.correlation) == ("aten::mm", "cpu", 7)
    assert (kernel.name, kernel.device, kernel.launched_by, kernel.end_ns) == ("gemm", "cuda:0", 4, 8)


def test_events_are_the_same_whether_torch_tells_their_kind_or_not() -> None:
    with profiler_session("cpu", memory=True) as session:
        torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2))
    told: Any = session.profiler
    raw = [OlderEvent(event) for event in told.kineto_results.events()]
    assert recorded_events(session_of(*raw)) == recorded_events(session)
    assert {"aten::linear", "aten::addmm"} & {event.name for event in recorded_events(session)}


def test_allocations_come_in_order_with_their_addresses() -> None:
    with profiler_session("cpu", memory=True) as session:
        tensor = torch.empty(8)
        address = tensor.data_ptr()
        del tensor
    sizes = [one.size_bytes for one in recorded_allocations(session) if one.address == address]
    assert sizes == [32, -32]
