import pytest
import torch

from profiles.walk.call_context import CallContext


def test_a_state_is_put_in_force_and_taken_back() -> None:
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        captured = CallContext.current()
    before = CallContext.current()
    with captured.entered():
        assert CallContext.current() == captured
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16
    assert CallContext.current() == before


def test_autocast_that_was_off_is_off_again() -> None:
    captured = CallContext.current()
    with torch.autocast("cpu", dtype=torch.bfloat16), captured.entered():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_gradient_modes_come_back(mode: type[torch.no_grad]) -> None:
    with mode():
        captured = CallContext.current()
    for ambient in (torch.inference_mode, torch.no_grad, torch.enable_grad):
        with ambient(), captured.entered():
            assert CallContext.current() == captured


def test_differences_are_named() -> None:
    plain = CallContext.current()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        other = CallContext.current()
    with torch.inference_mode():
        fast = CallContext.current()
    assert plain.difference(plain) == ""
    assert other.difference(plain) == "autocast(cpu, bfloat16), no gradients"
    assert plain.difference(other) == "no autocast, gradients"
    assert fast.difference(plain) == "inference mode"
    assert plain.difference(fast) == "no inference mode"
