import random

import numpy as np
import pytest
import torch
from torch import nn

from profiles.profile_options import ProfileOptions
from profiles.walk import profile_model
from profiles.walk.preservation import preserved


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout()).train()


def test_buffers_flags_gradients_and_generators_come_back() -> None:
    net = model()
    net[0].eval()  # type: ignore[index]  # a Sequential
    gradient = torch.ones(3, 3)
    parameter = next(net.parameters())
    parameter.grad = gradient
    state = {name: value.clone() for name, value in net.state_dict().items()}
    numbers = (torch.random.get_rng_state(), random.getstate())
    with preserved(net):
        net.train()
        net(torch.rand(4, 3))
        random.random()
        parameter.grad = None
        net.eval()
    assert [module.training for module in net.modules()] == [True, False, True, True]
    assert all(torch.equal(state[name], value) for name, value in net.state_dict().items())
    assert next(net.parameters()).grad is gradient
    assert torch.equal(numbers[0], torch.random.get_rng_state())
    assert numbers[1] == random.getstate()


def test_numpy_s_global_generator_comes_back() -> None:
    with preserved(nn.Identity()):
        first = np.random.rand()  # noqa: NPY002 (the global generator is what is preserved)
    assert np.random.rand() == first  # noqa: NPY002 (as above)


def test_buffers_that_were_none_or_not_there_are_so_again() -> None:
    net = nn.Identity()
    net.register_buffer("mask", None)
    with preserved(net):
        net.mask = torch.ones(2)
        net.register_buffer("cache", torch.ones(3), persistent=False)
    assert not net.state_dict()
    assert not hasattr(net, "cache")


def test_a_buffer_that_was_replaced_comes_back_after_an_error() -> None:
    net = nn.BatchNorm1d(2)
    before = net.get_buffer("running_mean")

    def replace_and_raise() -> None:
        with preserved(net):
            net.running_mean = torch.ones(2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        replace_and_raise()
    assert net.get_buffer("running_mean") is before
    assert before.eq(0).all()


class Drifting(nn.Module):
    """Writes a cache in a dict, moves its weight to other memory, and freezes it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.caches = {"keys": [torch.zeros(3)]}

    def forward(self, x_N: torch.Tensor) -> torch.Tensor:
        self.caches["keys"][0].add_(1)
        self.weight.data = self.weight.data * 0.5
        self.weight.requires_grad_(False)
        return x_N * self.weight


def test_tensors_in_containers_and_the_memory_of_parameters_come_back() -> None:
    model = Drifting()
    pointer = model.weight.data_ptr()
    profile_model(model, (torch.ones(3),), options=ProfileOptions(threads=1, budget_s=0.0))
    assert model.caches["keys"][0].eq(0).all()
    assert (model.weight.data_ptr(), model.weight.tolist(), model.weight.requires_grad) == (pointer, [1.0] * 3, True)


def test_what_cannot_be_put_back_leaves_the_rest_to_be() -> None:
    net = model()
    parameter = next(net.parameters())
    parameter.grad = gradient = torch.ones(3, 3)

    def drift() -> None:
        with preserved(net), torch.no_grad():
            net.eval()
            parameter.add_(1)
            parameter.data = torch.ones(2)

    with pytest.raises(UserWarning, match=r"0\.weight was written"):
        drift()
    assert all(module.training for module in net.modules())
    assert parameter.shape == (3, 3)
    assert parameter.grad is gradient


def test_a_buffer_of_inference_mode_comes_back() -> None:
    net = nn.Identity()
    with torch.inference_mode():
        net.register_buffer("seen", torch.zeros(2))
    with preserved(net), torch.inference_mode():
        net.get_buffer("seen").add_(1)
    assert net.get_buffer("seen").eq(0).all()
