"""Profiling again and again in one process leaves nothing behind."""

import gc
import os
from pathlib import Path

import pytest
import torch
from torch import nn

from profiles.walk import profile_model
from tests.profiles.small_models import Raising
from tests.profiles.trap_models import QUICK

X = torch.ones(2, 8)


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.ModuleList([Raising()])[0])


def counted() -> tuple[int, int]:
    """Objects that the collector knows, and tensors among them."""
    gc.collect()
    objects = gc.get_objects()
    return len(objects), sum(issubclass(type(item), torch.Tensor) for item in objects)


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("profiles", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_profiles_leave_no_hook_and_no_growth_in_memory(profiles: int) -> None:
    net = model()
    attributes = [dict(vars(module)) for module in net.modules()]
    for _ in range(3):
        profile_model(net, (X,), options=QUICK)
    (objects, tensors), held_bytes = counted(), resident_bytes()
    for _ in range(profiles):
        profile_model(net, (X,), options=QUICK)
    more_objects, more_tensors = counted()
    assert more_tensors == tensors
    assert more_objects - objects < 100
    assert resident_bytes() - held_bytes < 16 * 2**20
    assert [dict(vars(module)) for module in net.modules()] == attributes
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())
    assert not torch.nn.modules.module._global_forward_hooks
