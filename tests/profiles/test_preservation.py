import random

import numpy as np
import pytest
import torch
from torch import nn

from profiles.preservation import preserved


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
