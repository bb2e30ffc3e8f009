"""Counts held against what PyTorch dispatches. Suffixes: N ids, K hashes."""

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from planner.cost_model.eager import launches_of, unfused_bytes
from profiles.component import Component, make_component
from representations.dhe.encoder import DheEncoder
from representations.interaction import DotInteraction
from representations.specs import Transform

N, K = 512, 64
VIEWS = ("view", "unbind", "transpose", "unsqueeze", "slice", "_unsafe_view", "t.")
ENCODERS = [(transform, rows) for transform in ("uniform", "gaussian") for rows in (1000, 2**40)]


class Counted(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch leaves it untyped
    """Kernels, and the bytes of the large tensors that they read and write."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # as above
        self.kernels, self.bytes = 0, 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if not any(function.__name__.startswith(view) for view in VIEWS):
            self.kernels += 1
            flat = [part for one in (*args, result) for part in (one if isinstance(one, list) else [one])]
            self.bytes += sum(one.nbytes for one in flat if isinstance(one, torch.Tensor) and one.numel() >= N * K // 2)
        return result


def run_encoder(transform: Transform, rows: int) -> Counted:
    # Without a processor's tensors, the encoder runs as on a GPU.
    encoder, ids_N = DheEncoder(K, rows, transform=transform).to("meta"), torch.arange(N, device="meta")
    counted = Counted()
    with torch.no_grad(), counted:
        encoder(ids_N)
    return counted


def encoder_of(transform: str, rows: int) -> Component:
    return make_component("dhe_encoder", N, {"k": K, "rows": rows, "transform": transform})


@pytest.mark.parametrize(("transform", "rows"), ENCODERS)
def test_an_encoder_launches_and_moves_what_its_operations_do(transform: Transform, rows: int) -> None:
    counted, component = run_encoder(transform, rows), encoder_of(transform, rows)
    assert launches_of(component) == counted.kernels
    assert unfused_bytes(component, 0.0) == pytest.approx(counted.bytes, rel=0.03)


def test_a_dot_interaction_launches_what_its_operations_do() -> None:
    vectors, counted = [torch.randn(4, 8) for _ in range(5)], Counted()
    with torch.no_grad(), counted:
        DotInteraction()(*vectors)
    dot = make_component("interaction", 4, {"function": "dot", "vectors": 5, "dim": 8})
    assert launches_of(dot) == counted.kernels


def test_other_components_are_one_kernel_that_moves_each_byte_once() -> None:
    linear = make_component("linear", 4, {"in_features": 8, "out_features": 8})
    concat = make_component("interaction", 4, {"function": "concat", "vectors": 5, "width": 40})
    assert (launches_of(linear), launches_of(concat)) == (1, 1)
    assert unfused_bytes(linear, 77.0) == 77.0
