import copy
import inspect
from itertools import count
from typing import Any

import pytest
import torch
from torch import nn

from profiles.walk.tracing import call_log, tracing
from profiles.walk.tree import is_compiled, module_tree
from tests.profiles.small_models import Net, Raising, Recursive, net_inputs


def test_spans_nest_and_name_their_callers() -> None:
    model = nn.Sequential(nn.Sequential(nn.Identity()), nn.Identity())
    nodes, ticks = module_tree(model), count()
    with tracing(nodes, lambda: next(ticks)) as trace:
        model(torch.ones(1))
    assert [(span.node, span.caller, span.start, span.end) for span in trace.spans] == [
        (2, 1, 2, 3),
        (1, 0, 1, 4),
        (3, 0, 5, 6),
        (0, None, 0, 7),
    ]
    assert trace.open_calls == []


def test_an_error_is_told_innermost_first_and_leaves_the_modules_as_they_were() -> None:
    model = nn.Sequential(nn.Identity(), Raising())
    nodes = module_tree(model)
    with pytest.raises(RuntimeError), tracing(nodes, int) as trace:
        model(torch.ones(2, 8))
    assert [nodes[index].path for index, _ in trace.failures] == ["1.never", "1", ""]
    assert trace.open_calls == []
    assert not any("forward" in vars(module) for module in model.modules())


def test_a_swallowed_error_does_not_confuse_the_caller() -> None:
    class Fallback(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.risky, self.safe = Raising(), nn.Identity()

        def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
            try:
                output_BF: torch.Tensor = self.risky(x_BF)
            except RuntimeError:
                output_BF = self.safe(x_BF)
            return output_BF

    model = Fallback()
    nodes = module_tree(model)
    with tracing(nodes, int) as trace:
        model(torch.ones(2, 8))
    finished = [nodes[span.node].path for span in trace.spans]
    assert finished == ["risky.good", "safe", ""]


def test_a_shared_module_s_calls_belong_to_the_parent_that_makes_them() -> None:
    inner = nn.Sequential(nn.Identity())
    first, second = nn.Sequential(inner), nn.Sequential(inner)
    model = nn.Sequential(first, second, second)
    nodes = module_tree(model)
    with tracing(nodes, int) as trace:
        model(torch.ones(1))
    calls = [nodes[span.node].path for span in trace.spans]
    assert calls == ["0.0.0", "0.0", "0", "1.0.0", "1.0", "1", "1.0.0", "1.0", "1", ""]


def test_of_a_module_that_calls_itself_the_outermost_call_is_told() -> None:
    model, ticks, told = Recursive(), count(), []
    with tracing(module_tree(model), lambda: next(ticks), lambda index, _args, _kwargs: told.append(index)) as trace:
        model(torch.ones(1, 8), 2)
    own = [(span.start, span.end, span.is_outermost) for span in trace.spans if span.node == 0]
    assert own == [(6, 9, False), (3, 10, False), (0, 11, True)]
    assert told == [0, 1, 1, 1]


def test_inputs_and_outputs_are_shown() -> None:
    model, (args, kwargs) = Net().eval(), net_inputs()
    calls: list[tuple[int, int, list[str]]] = []
    returns: list[int] = []
    with tracing(
        module_tree(model)[:1],
        int,
        lambda index, args, kwargs: calls.append((index, len(args), list(kwargs))),
        lambda _index, _args, _kwargs, output: returns.append(len(output)),
    ):
        model(*args, **kwargs)
    assert calls == [(0, 1, ["ids_BP"])]
    assert returns == [4]


def replica_of(module: nn.Linear) -> nn.Module:
    """As `nn.DataParallel` makes one for each device."""
    made: Any = module
    return with_own_weight(made._replicate_for_data_parallel(), module)


def flat_copy_of(module: nn.Linear) -> nn.Module:
    return with_own_weight(copy.copy(module), module)


def with_own_weight(made: nn.Module, module: nn.Linear) -> nn.Module:
    vars(made)["_parameters"] = {"weight": nn.Parameter(module.weight.detach().clone()), "bias": None}
    return made


class Copying(nn.Module):
    """Runs a copy of its child, with other weights."""

    def __init__(self, made_by: Any) -> None:
        super().__init__()
        self.child, self.made_by = nn.Linear(2, 2, bias=False), made_by

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        twin = self.made_by(self.child)
        nn.init.zeros_(twin.weight)
        output_BF: torch.Tensor = twin(x_BF)
        return output_BF


@pytest.mark.parametrize("is_hooked", [False, True])
@pytest.mark.parametrize("made_by", [copy.deepcopy, flat_copy_of, replica_of])
@pytest.mark.parametrize("watching", [tracing, call_log])
def test_a_copy_made_meanwhile_runs_on_weights_of_its_own(watching: Any, made_by: Any, is_hooked: bool) -> None:
    model = Copying(made_by)
    if is_hooked:
        model.child.register_forward_hook(lambda _module, _args, output: output)
    before = {name: vars(module).keys() for name, module in model.named_modules()}
    with watching(module_tree(model), int) as trace:
        assert model(torch.ones(1, 2)).eq(0).all()
    assert [span.node for span in trace.spans] == [0]
    assert {name: vars(module).keys() for name, module in model.named_modules()} == before
    assert model.child(torch.ones(1, 2)).ne(0).any()


class Sharing(nn.Linear):
    """Gives away its own attributes as its state."""

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)


def test_a_module_whose_state_is_its_attributes_stays_watched_when_it_is_copied() -> None:
    model = Sharing(2, 2)
    with call_log(module_tree(model), int) as trace:
        assert "forward" not in vars(copy.copy(model))
        model(torch.ones(1, 2))
    assert len(trace.spans) == 1
    assert "forward" not in vars(model)


def test_watching_makes_no_module_look_compiled() -> None:
    model = Bypassing()
    with tracing(module_tree(model), int):
        assert not any(map(is_compiled, model.modules()))


class Bypassing(nn.Module):
    """Calls a child with a hook once as it should and once past its hooks."""

    def __init__(self) -> None:
        super().__init__()
        self.child = nn.Identity()
        self.child.register_forward_hook(lambda _module, _args, output: output)

    def forward(self, x_N: torch.Tensor) -> torch.Tensor:
        return self.child.forward(self.child(x_N))


@pytest.mark.parametrize("watching", [tracing, call_log])
def test_calls_past_the_hooks_of_a_module_are_seen(watching: Any) -> None:
    model = Bypassing()
    with watching(module_tree(model), int) as trace:
        model(torch.ones(1))
    assert [span.is_outermost for span in trace.spans if span.node == 1] == [False, True, True]
    assert not {"forward", "_call_impl"} & vars(model.child).keys()


def test_the_signature_of_forward_stays() -> None:
    model = Net()
    before = inspect.signature(model.forward)
    with tracing(module_tree(model), int):
        assert inspect.signature(model.forward) == before
