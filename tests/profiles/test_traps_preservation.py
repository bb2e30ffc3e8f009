"""Trap 4: the model is left as it was found, bit for bit, also where it or a plug-in raises."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import spectral_norm as old_spectral_norm
from torch.nn.utils import weight_norm as old_weight_norm
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from profiles.errors import InputError
from profiles.profilers import Figure, ProfilerRun
from profiles.walk import profile_model
from profiles.walk.subject import Subject
from tests.profiles.trap_models import QUICK

X = torch.rand(4, 8)


class Restless(nn.Module):
    """Changes whatever a forward pass can change of itself; raises at the end if told to."""

    scratch: torch.Tensor
    calls: int
    seen: list[int]

    def __init__(self, *, raises: bool = False) -> None:
        super().__init__()
        self.norm, self.linear, self.drop = nn.BatchNorm1d(8), nn.Linear(8, 8), nn.Dropout()
        self.register_buffer("scratch", torch.zeros(8), persistent=False)
        self.register_buffer("history", None)
        self.cache, self.plain = {"a": 1}, torch.zeros(3)
        self.calls, self.seen, self.raises = 0, [0], raises

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen.append(self.calls)
        self.cache["b"] = 2
        self.late = self.calls
        self.plain += 1
        self.scratch.add_(1)
        self.history = x_BF
        self.linear.weight.data.mul_(0.5)
        self.norm.weight = nn.Parameter(self.norm.weight * 2)
        self.drop.eval()
        self.register_forward_hook(lambda _module, _args, output: output)
        random.random()
        np.random.rand()  # noqa: NPY002 (the global generator is what is preserved)
        output_BF: torch.Tensor = self.drop(self.linear(self.norm(x_BF)))
        if self.raises:
            raise RuntimeError("told to")
        return output_BF


class Broken:
    """A profiler that raises at every visit."""

    name = "broken"
    visits = 1
    needs_folder = False
    figures: tuple[Figure, ...] = ()

    def open(self, folder: Path | None) -> "Broken":  # noqa: ARG002 (it writes no files)
        return self

    def start(self, subject: Subject) -> ProfilerRun | None:
        raise ZeroDivisionError(subject.path)


def state_of(model: nn.Module) -> dict[str, Any]:
    """Everything in every module by name, tensors by identity and value."""
    return {
        f"{path}.{name}": described(value)
        for path, module in model.named_modules()
        for name, value in sorted(vars(module).items())
    }


def described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (
            id(value),
            value.detach().clone().numpy().tobytes(),
            value.requires_grad,
            value.is_leaf and id(value.grad),
        )
    if isinstance(value, dict):
        return {key: described(part) for key, part in value.items()}
    return list(value) if isinstance(value, list) else value


def generator_states() -> list[Any]:
    numpy_state = np.random.get_state(legacy=True)  # noqa: NPY002 (as above)
    return [torch.random.get_rng_state().tolist(), random.getstate(), list(map(str, numpy_state))]


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("profilers", [(), (Broken(),)])
def test_every_attribute_tensor_hook_and_flag_comes_back(raises: bool, profilers: tuple[Broken, ...]) -> None:
    model = Restless(raises=raises).train()
    model.linear.weight.grad = torch.ones(8, 8)
    model.register_forward_pre_hook(lambda _module, _args: None)
    before, versions = state_of(model), [parameter._version for parameter in model.norm.parameters()]
    numbers = generator_states()
    profile_model(model, (X,), options=QUICK, profilers=profilers)
    assert state_of(model) == before
    assert [parameter._version for parameter in model.norm.parameters()] == versions
    assert generator_states() == numbers


@pytest.mark.parametrize("norm", [spectral_norm, weight_norm, old_spectral_norm, old_weight_norm])
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated:FutureWarning")
def test_normalised_weights_come_back(norm: Any) -> None:
    model = nn.Sequential(norm(nn.Linear(8, 8))).train()
    before = state_of(model)
    profile = profile_model(model, (X,), options=QUICK)
    assert state_of(model) == before
    assert profile.rows[0].provenance == "measured"


def test_gradients_are_neither_added_to_nor_lost() -> None:
    model = nn.Linear(8, 8)
    gradient = model.weight.grad = torch.ones(8, 8)
    profile_model(model, (X,), options=QUICK)
    assert model.weight.grad is gradient
    assert gradient.eq(1).all()
    assert model.bias.grad is None


def test_a_pending_backward_pass_still_works() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).eval()
    loss = model(X).sum()
    profile_model(model, (X,), options=QUICK)
    torch.autograd.backward(loss)
    assert model[0].weight.grad is not None


def test_a_module_without_shapes_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"model: 0\.weight has no shape before the first call"):
        profile_model(nn.Sequential(nn.LazyLinear(4)), (X,), options=QUICK)


def test_inputs_that_are_written_are_not_the_user_s() -> None:
    given = -torch.ones(2, 8)
    profile_model(nn.Sequential(nn.ReLU(inplace=True)), (given,), options=QUICK)
    assert given.eq(-1).all()


def test_a_parameter_that_is_written_behind_the_profiler_s_back_is_told() -> None:
    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.calls = nn.Parameter(torch.ones(8)), 0

        def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            if self.calls > 1:
                self.weight.mul_(0.5)
            return x_BF * self.weight

    with pytest.warns(UserWarning, match="model: weight was written after the capturing pass and stays so"):
        profile_model(Late(), (X,), options=QUICK)
