from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from profiles.analyses.alternatives import subjects_at, time_in_turn
from profiles.errors import InputError, MeasurementError
from profiles.measure import thread_count
from profiles.providers import InputBatch, Target
from profiles.timing import TimingOptions
from tests.profiles.small_models import Net, Raising, net_inputs


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small products on several threads wait for one another where cores are shared."""
    with thread_count(1):
        yield


QUICK = TimingOptions(seconds_per_visit=1e-4, min_samples=1, max_samples=2)


def net_target() -> Target:
    args, kwargs = net_inputs()
    return Target(name="net", model=Net(), batches=(InputBatch(args=args, kwargs=kwargs),))


def test_modules_come_with_the_calls_that_a_pass_makes_of_them() -> None:
    target = net_target()
    subjects = subjects_at(target, ["shared", ""])
    assert [subjects["shared"].calls[0].count, subjects[""].calls[0].count] == [2, 1]
    assert list(subjects) == ["shared", ""]
    assert target.model.get_buffer("norm.num_batches_tracked") == 0


def test_an_iteration_is_a_forward_and_a_backward_pass() -> None:
    counts: Counter[str] = Counter()

    class Counting(nn.Linear):
        def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
            output_BF: Any = super().forward(x_BF)
            counts["forward"] += 1
            if output_BF.requires_grad:
                output_BF.register_hook(lambda _: counts.update(["backward"]))
            return output_BF  # type: ignore[no-any-return]  # hooks of tensors are untyped

    target = Target(name="", model=Counting(4, 4), batches=(InputBatch(args=(torch.ones(2, 4),)),))
    time_in_turn([subjects_at(target, [""])[""]], QUICK)
    assert counts["backward"] == 0
    subject = subjects_at(target, [""], backward=True)[""]
    counts.clear()
    time_in_turn([subject], QUICK)
    assert counts["backward"] == counts["forward"] > 0
    assert all(parameter.grad is None for parameter in target.model.parameters())


def test_a_module_that_works_in_place_finds_its_inputs_anew() -> None:
    target = Target(
        name="",
        model=nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)),
        batches=(InputBatch(args=(torch.ones(2, 4),)),),
    )
    (latency,) = time_in_turn([subjects_at(target, ["1"], backward=True)["1"]], QUICK)
    assert latency.visits == 3


def test_modules_that_raise_or_are_never_called_are_told() -> None:
    raising = Target(name="", model=Raising(), batches=(InputBatch(args=(torch.ones(2, 8),)),))
    with pytest.raises(MeasurementError, match="never: RuntimeError: mat1 and mat2"):
        subjects_at(raising, ["never"])
    with pytest.raises(MeasurementError, match="unused: is never called"):
        subjects_at(net_target(), ["unused"])
    with pytest.raises(InputError, match="path 'nowhere'"):
        subjects_at(net_target(), ["nowhere"])
    with pytest.raises(InputError, match="at least one module"):
        time_in_turn([])


def test_what_raises_only_when_it_is_timed_is_told_too() -> None:
    class Once(nn.Module):
        def forward(self, x_N: torch.Tensor) -> torch.Tensor:
            if x_N.requires_grad:
                raise ValueError("not with gradients")
            return x_N

    subject = subjects_at(Target(name="", model=Once(), batches=(InputBatch(args=(torch.ones(2),)),)), [""])[""]
    subject.calls[0].args[0].requires_grad_()
    with pytest.raises(MeasurementError, match="the model: ValueError: not with gradients"):
        time_in_turn([subject], QUICK)
