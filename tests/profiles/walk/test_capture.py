from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from profiles.providers.target import InputBatch
from profiles.walk.capture import observe
from profiles.walk.tree import module_tree
from tests.profiles.small_models import Net, Raising, net_inputs


def observed(model: nn.Module, *args: Any, **kwargs: Any) -> dict[str, Any]:
    nodes = module_tree(model)
    seen = observe(model, nodes, (InputBatch(args=args, kwargs=kwargs),))
    return {node.path: one for node, one in zip(nodes, seen, strict=True)}


def test_calls_of_one_signature_are_one_call_with_a_count() -> None:
    (args, kwargs) = net_inputs()
    seen = observed(Net(), *args, **kwargs)
    (call,) = seen["shared"].calls
    assert (call.count, call.signature) == (2, "(float32[4, 8])")
    assert seen[""].calls[0].kwargs["ids_BP"].shape == (4, 3)
    assert seen["unused"].calls == []


def test_calls_of_two_signatures_are_kept_apart() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x_BF: torch.Tensor) -> Any:
            return self.linear(x_BF), self.linear(x_BF[:1])

    calls = observed(Twice(), torch.ones(4, 3))["linear"].calls
    assert [call.signature for call in calls] == ["(float32[4, 3])", "(float32[1, 3])"]


def test_every_call_moves_the_bytes_of_its_own_shapes() -> None:
    class Alternating(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x_BF: torch.Tensor) -> Any:
            return self.linear(x_BF[:1]), self.linear(x_BF), self.linear(x_BF[:1])

    weights = 8 * 8 + 8
    moved = observed(Alternating(), torch.ones(1000, 8))["linear"].bytes_moved
    assert moved == 4 * sum(2 * 8 * rows + weights for rows in (1, 1000, 1))


def test_flops_are_two_per_multiply_accumulate() -> None:
    (args, kwargs) = net_inputs(batch=4, width=8)
    seen = observed(Net(), *args, **kwargs)
    linear = 2 * 4 * 8 * 8
    assert seen["blocks.0.linear"].flops == linear
    assert seen["shared"].flops == 2 * linear
    assert (seen["blocks.1"].flops, seen["blocks.1"].self_flops) == (2 * linear, linear)
    assert (seen[""].flops, seen[""].self_flops) == (6 * linear, 0)


def test_bytes_below_the_depth_limit_count_where_the_tree_ends() -> None:
    args, kwargs = net_inputs()
    model, batches = Net(), (InputBatch(args=args, kwargs=kwargs),)
    whole, part = (module_tree(model, depth) for depth in (None, 1))
    deep = {node.path: seen for node, seen in zip(whole, observe(model, whole, batches), strict=True)}
    for node, seen in zip(part, observe(model, part, batches), strict=True):
        assert (seen.flops, seen.call_count) == (deep[node.path].flops, deep[node.path].call_count)
    blocks = next(seen for node, seen in zip(part, observe(model, part, batches), strict=True) if node.path == "blocks")
    inner = [deep[f"blocks.{block}.{name}"].bytes_moved or 0 for block in (0, 1) for name in ("linear", "activation")]
    assert blocks.bytes_moved == sum(inner)


def test_captured_inputs_share_no_memory_with_the_run() -> None:
    model = nn.Sequential(nn.ReLU(inplace=True))
    x_BF = -torch.ones(2, 2)
    seen = observed(model, x_BF)
    assert x_BF.eq(-1).all()
    assert seen["0"].calls[0].args[0].eq(-1).all()


def test_an_error_marks_the_modules_it_passed_through() -> None:
    seen = observed(nn.Sequential(nn.Linear(8, 8), Raising()), torch.ones(2, 8))
    failed = {path for path, one in seen.items() if one.failure}
    assert failed == {"", "1", "1.never"}
    assert seen["1"].failure.startswith("RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    assert seen["1.good"].flops == 2 * 2 * 8 * 8


@pytest.mark.parametrize("module", [nn.Identity(), nn.Flatten(), nn.Dropout().eval()])
def test_a_leaf_that_runs_no_operator_but_views_moves_nothing(module: nn.Module) -> None:
    assert observed(module, torch.ones(4, 2, 2))[""].bytes_moved == 0


class Scaling(nn.Module):
    """A leaf of its own class, with a table of which it reads two rows."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.ones(1000, 4))

    def forward(self, ids_N: torch.Tensor) -> torch.Tensor:
        return functional.embedding(ids_N, self.table).view(-1) * 2


def test_a_leaf_of_unknown_access_moves_what_its_operators_do() -> None:
    looked_up, doubled = 2 * 8 + 2 * 2 * 4 * 4, 2 * 2 * 4 * 4
    assert observed(Scaling(), torch.tensor([3, 5]))[""].bytes_moved == looked_up + doubled


class Threaded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x_BF: torch.Tensor) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return self.outer(pool.submit(self.inner, x_BF).result())


def test_what_runs_in_another_thread_is_told() -> None:
    seen = observed(Threaded(), torch.ones(2, 4))
    assert {path for path, one in seen.items() if one.is_unseen} == {"", "inner"}
    assert seen["inner"].bytes_moved == seen["outer"].bytes_moved == 4 * (16 + 20)


def test_what_runs_outside_torch_is_told() -> None:
    class ByNumpy(nn.Module):
        def forward(self, x_N: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(x_N.numpy() + 1)

    assert observed(ByNumpy(), torch.ones(2))[""].is_unseen
