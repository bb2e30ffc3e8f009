from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import nn

from profiles.analyses.alternatives import time_in_turn
from profiles.analyses.opportunity import size_opportunity
from profiles.errors import RecplanError
from profiles.providers import InputBatch, Target
from profiles.timing import TimingOptions
from profiles.walk.current_device import device_of, on_device
from profiles.walk.subject import Subject
from profiles.walk.walk import walking

TARGET = Target(name="", model=nn.Linear(2, 2), batches=(InputBatch(args=(torch.ones(1, 2),)),))


@pytest.fixture
def current(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Devices in which torch was told to be; every target counts as being on the second GPU."""
    entered: list[str] = []

    @contextmanager
    def device(name: str) -> Iterator[None]:
        entered.append(name)
        yield

    monkeypatch.setattr(torch.cuda, "device", device)
    return entered


def test_a_target_is_where_its_parameters_or_inputs_are() -> None:
    assert device_of(TARGET) == "cpu"
    elsewhere = Target(name="", model=nn.Identity(), batches=(InputBatch(args=(torch.ones(1, device="meta"),)),))
    assert device_of(elsewhere) == "meta"
    assert device_of(Target(name="", model=nn.Identity(), batches=(InputBatch(args=(1,)),))) == "cpu"


def test_only_a_gpu_becomes_current(current: list[str]) -> None:
    for name in ("cpu", "cuda:1"):
        with on_device(name):
            pass
    assert current == ["cuda:1"]


def test_a_walk_and_comparisons_are_on_the_device_of_their_target(
    current: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("profiles.walk.walk", "profiles.analyses.opportunity"):
        monkeypatch.setattr(f"{module}.device_of", lambda _target: "cuda:1")
    subject = Subject(path="", module=nn.Identity(), original=nn.Identity(), calls=(), torch_name="cuda:1")
    # Each ends where it would measure on a GPU, which is not there.
    for look in (
        lambda: walking(TARGET).__enter__(),
        lambda: size_opportunity(TARGET, [""], change=lambda one: one),
        lambda: time_in_turn([subject], TimingOptions()),
    ):
        current.clear()
        with pytest.raises((AssertionError, RecplanError, RuntimeError)):
            look()
        assert current == ["cuda:1"]
