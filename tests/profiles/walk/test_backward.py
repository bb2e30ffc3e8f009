from typing import Any

import pytest
import torch
from torch import nn

from profiles.errors import MeasurementError
from profiles.nested import tensors_of
from profiles.providers.target import InputBatch
from profiles.walk.backward import backward_calls, backward_flops, backward_of
from profiles.walk.capture import observe
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree


def subject_of(module: nn.Module, *args: Any) -> Subject:
    calls = observe(module, module_tree(module), (InputBatch(args=args),), is_grad=True)[0].calls
    return Subject(path="m", module=module, original=module, calls=tuple(calls), phase="backward")


def gradients(module: nn.Module, *args: Any) -> tuple[torch.Tensor, ...]:
    subject = subject_of(module, *args)
    (call,) = backward_calls(subject)
    with subject.context(call):
        timed = backward_of(subject, call)
    return tensors(timed.call())


def tensors(given: object) -> tuple[torch.Tensor, ...]:
    return tuple(tensors_of(given))


def leaf(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, requires_grad=True)


def test_gradients_are_those_of_inputs_that_want_one_and_of_the_parameters() -> None:
    module = nn.Linear(3, 2)
    input_NF, weight_FF, bias_F = gradients(module, leaf(4, 3))
    assert torch.allclose(input_NF, module.weight.sum(0).expand(4, 3))
    assert weight_FF.eq(4).all()
    assert bias_F.eq(4).all()
    assert len(gradients(module, torch.ones(4, 3))) == 2


def test_no_gradient_is_accumulated() -> None:
    module, input_NF = nn.Linear(3, 2), leaf(4, 3)
    gradients(module, input_NF)
    assert module.weight.grad is module.bias.grad is input_NF.grad is None


def test_a_module_that_works_in_place_has_the_gradient_of_what_it_was_given() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU(inplace=True)

        def forward(self, x_N: torch.Tensor) -> Any:
            return self.act(x_N * torch.tensor([1.0, -1.0]))

    model = Net()
    observed = observe(model, module_tree(model), (InputBatch(args=(leaf(2),)),), is_grad=True)
    subject = Subject(path="act", module=model.act, original=model.act, calls=tuple(observed[1].calls))
    with subject.context(subject.calls[0]):
        timed = backward_of(subject, subject.calls[0])
    for _ in range(2):
        (gradient_N,) = tensors(timed.call())
    assert gradient_N.tolist() == [1.0, 0.0]


def test_flops_are_twice_those_of_the_forward_pass_where_all_gradients_are_wanted() -> None:
    assert backward_flops(subject_of(nn.Linear(3, 2), leaf(4, 3))) == 2 * (2 * 4 * 3 * 2)
    assert backward_flops(subject_of(nn.Linear(3, 2), torch.ones(4, 3))) == 2 * 4 * 3 * 2


def test_a_module_without_a_differentiable_output_tells_so() -> None:
    subject = subject_of(nn.ReLU(), torch.ones(2))
    with pytest.raises(MeasurementError, match="no gradient flows"), subject.context(subject.calls[0]):
        backward_of(subject, subject.calls[0])


def test_calls_made_without_gradients_are_left_out() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frozen = nn.Linear(2, 2)

        def forward(self, x_NF: torch.Tensor) -> Any:
            with torch.no_grad():
                return self.frozen(x_NF)

    model = Net()
    observed = observe(model, module_tree(model), (InputBatch(args=(torch.ones(1, 2),)),), is_grad=True)
    whole, inner = (Subject(path="", module=model, original=model, calls=tuple(seen.calls)) for seen in observed)
    assert len(backward_calls(whole)) == 1
    assert backward_calls(inner) == ()


def test_what_is_compiled_gets_a_new_graph_every_time() -> None:
    module = nn.Sequential(nn.Linear(3, 2))
    # As `compile()` does, without loading the compiler.
    module[0]._compiled_call_impl = module[0]._call_impl
    subject = subject_of(module, leaf(4, 3))
    with subject.context(subject.calls[0]):
        timed = backward_of(subject, subject.calls[0])
    assert timed.refresh
    for _ in range(2):
        assert len(tensors(timed.call())) == 3
        timed.refresh()
