import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from profiles.counting.operators import Operator, OperatorWatch
from tests.profiles.small_models import Net, net_inputs


def told_of(run: object) -> list[Operator]:
    told: list[Operator] = []
    with torch.no_grad(), OperatorWatch(told.append):
        run()  # type: ignore[operator]  # any callable
    return told


def test_flops_are_those_of_torch_s_counter() -> None:
    model, (args, kwargs) = Net().eval(), net_inputs()
    watch = OperatorWatch(lambda _operator: None)
    with torch.no_grad():
        with watch:
            model(*args, **kwargs)
        with FlopCounterMode(display=False) as counter:
            model(*args, **kwargs)
    assert watch.flops == counter.get_total_flops() > 0


def test_gradients_are_counted_too() -> None:
    linear, x_BF = nn.Linear(8, 8), torch.ones(4, 8, requires_grad=True)
    watch = OperatorWatch(lambda _operator: None)
    with watch:
        torch.autograd.backward(linear(x_BF).sum())
    assert watch.flops == 3 * 2 * 4 * 8 * 8


def test_composite_operators_are_told_by_their_parts() -> None:
    linear, x_BF = nn.Linear(2, 2), torch.ones(1, 2)
    assert [one.name for one in told_of(lambda: linear(x_BF))] == ["aten::t", "aten::addmm"]


def test_what_an_operator_reads_and_writes_is_told() -> None:
    x, y = torch.ones(2), torch.zeros(2)
    added = next(one for one in told_of(lambda: torch.add(x, 1.0, out=y)))
    assert added.written == (y,)
    assert added.tensors == (x, y)
    (doubled,) = told_of(lambda: x.mul_(2))
    assert doubled.written == (x,)


def test_an_operator_that_nobody_counts_is_named() -> None:
    with torch.library._scoped_library("recplan_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        told = told_of(lambda: torch.ops.recplan_test.twice(torch.ones(2)).relu())
    assert [one.name for one in told if one.is_uncounted] == ["recplan_test::twice"]


def test_nothing_is_told_while_paused() -> None:
    told: list[Operator] = []
    watch = OperatorWatch(told.append)
    with watch, watch.paused():
        torch.ones(2).relu()
    assert told == []
    assert watch.flops == 0


def test_jagged_tensors_answer_for_their_shapes_themselves() -> None:
    jagged = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)
    watch = OperatorWatch(lambda _operator: None)
    with torch.no_grad(), watch:
        nn.Linear(4, 8)(jagged)
    assert watch.flops == 2 * 5 * 4 * 8


@pytest.mark.slow
def test_counting_does_not_load_the_compiler() -> None:
    code = """
import sys, torch
from profiles.counting.operators import OperatorWatch
with OperatorWatch(lambda operator: None):
    torch.ones(2, 2) @ torch.ones(2, 2)
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
