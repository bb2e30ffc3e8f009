"""Counts held against what PyTorch dispatches. Suffixes: N ids, K hashes."""

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from planner.cost_model.eager import launches_of, unfused_bytes
from profiles.component import Component, make_component
from representations.deepfm import FactorizationMachine
from representations.dhe.encoder import DheEncoder
from representations.interaction import DotInteraction
from representations.quotient_remainder import IdSplit
from representations.reduced_table import RowNumbers
from representations.robe import RobeArray, RobeRows
from representations.specs import Feature, RobeSpec, TensorTrainSpec, Transform
from representations.tensor_train import TensorTrainCores

N, K = 512, 64
VIEWS = ("alias", "view", "unbind", "transpose", "unsqueeze", "slice", "_unsafe_view", "t.")


class Counted(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch leaves it untyped
    """Kernels, and the bytes of the tensors of at least so many numbers that they read and write."""

    def __init__(self, least: int = N * K // 2) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # as above
        self.kernels, self.bytes, self.least = 0, 0, least

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if not any(function.__name__.startswith(view) for view in VIEWS):
            self.kernels += 1
            flat = [part for one in (*args, result) for part in (one if isinstance(one, list) else [one])]
            self.bytes += sum(one.nbytes for one in flat if isinstance(one, torch.Tensor) and one.numel() >= self.least)
        return result


def run_encoder(transform: Transform, rows: int) -> Counted:
    # Without a processor's tensors, the encoder runs by tensor operations.
    encoder, ids_N = DheEncoder(K, rows, transform=transform).to("meta"), torch.arange(N, device="meta")
    counted = Counted()
    with torch.no_grad(), counted:
        encoder(ids_N)
    return counted


def encoder_of(transform: str, rows: int) -> Component:
    return make_component("dhe_encoder", N, {"k": K, "rows": rows, "transform": transform})


@pytest.mark.parametrize("rows", [1000, 2**40])
def test_a_gaussian_encoder_runs_operations_on_what_one_kernel_hashed(rows: int) -> None:
    uniform, gaussian = encoder_of("uniform", rows), encoder_of("gaussian", rows)
    counted, plain = run_encoder("gaussian", rows), run_encoder("uniform", rows)
    assert (launches_of(uniform), unfused_bytes(uniform, 77.0)) == (1, 77.0)
    assert launches_of(gaussian) == 1 + counted.kernels - plain.kernels
    assert unfused_bytes(gaussian, 0.0) == pytest.approx(counted.bytes - plain.bytes, rel=0.03)


def test_a_dot_interaction_launches_what_its_operations_do() -> None:
    vectors, counted = [torch.randn(4, 8) for _ in range(5)], Counted()
    with torch.no_grad(), counted:
        DotInteraction()(*vectors)
    dot = make_component("interaction", 4, {"function": "dot", "vectors": 5, "dim": 8})
    assert launches_of(dot) == counted.kernels


def test_a_machine_launches_what_its_operations_do() -> None:
    counted, joined = Counted(), torch.randn(4, 8)
    with torch.no_grad(), counted:
        FactorizationMachine()(joined)
    assert launches_of(make_component("interaction", 4, {"function": "fm", "width": 8})) == counted.kernels


@pytest.mark.parametrize("block", [16, 24])
def test_robe_launches_and_moves_what_its_operations_do(block: int) -> None:
    spec, counted = RobeSpec(dim=K, floats=10**6, block=block), Counted(least=N)
    rows, ids_N = RobeRows(spec, RobeArray(spec, 1000), 0), torch.arange(N)
    with torch.no_grad(), counted:
        rows(ids_N)
    shape = {"floats": 10**6, "dim": K, "block": block, "rows": 1000, "zipf": 0.0}
    component = make_component("robe", N, shape)
    # The whole array is an argument of the gather, which reads as much of it as it writes.
    moved = counted.bytes - 4 * 10**6 + 4 * N * K
    assert launches_of(component) == counted.kernels
    assert unfused_bytes(component, 0.0) == pytest.approx(moved, rel=0.03)


def test_splitting_ids_launches_and_moves_what_its_operations_do() -> None:
    counted, component, ids_N = Counted(least=N), make_component("id_split", N), torch.arange(N)
    with torch.no_grad(), counted:
        IdSplit(4)(ids_N)
    assert launches_of(component) == counted.kernels
    assert unfused_bytes(component, 0.0) == counted.bytes


def test_mapping_ids_launches_and_moves_what_its_operations_do() -> None:
    counted, component, ids_N = Counted(least=N), make_component("id_map", N, {"rows": N}), torch.arange(N)
    numbers = RowNumbers(N, 10)
    with torch.no_grad(), counted:
        numbers(ids_N)
    assert launches_of(component) == counted.kernels
    assert unfused_bytes(component, 0.0) == counted.bytes


@pytest.mark.parametrize("q", [(4, 4), (2, 2, 4), (2, 2, 2, 2)])
def test_a_tensor_train_launches_what_its_operations_do(q: tuple[int, ...]) -> None:
    p, counted = (5,) * len(q), Counted()
    spec, feature = TensorTrainSpec(dim=16, rank=3, row_factors=p, dim_factors=q), Feature(name="f", cardinality=25)
    cores, ids_N = TensorTrainCores(25, spec.core_shapes(feature), 16), torch.arange(25)
    with torch.no_grad(), counted:
        cores(ids_N)
    factors = {f"{name}_{i}": value for name, values in (("p", p), ("q", q)) for i, value in enumerate(values)}
    component = make_component("tensor_train", 25, {"cores": str(len(q)), "rank": 3, **factors})
    assert launches_of(component) == counted.kernels


def test_other_components_are_one_kernel_that_moves_each_byte_once() -> None:
    linear = make_component("linear", 4, {"in_features": 8, "out_features": 8})
    concat = make_component("interaction", 4, {"function": "concat", "vectors": 5, "width": 40})
    assert (launches_of(linear), launches_of(concat)) == (1, 1)
    assert unfused_bytes(linear, 77.0) == 77.0
