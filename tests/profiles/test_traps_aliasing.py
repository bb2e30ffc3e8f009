"""Trap 5: modules that write their inputs, inputs that share memory, and the contexts that calls are made in."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from profiles.walk import profile_model
from profiles.walk.call_context import CallContext
from tests.profiles.trap_models import QUICK, Passing, observed, only_call, rows_of

X = torch.ones(2, 4)


class Growing(nn.Module):
    """Appends to the list that it is given, as models do with their caches of keys and values."""

    def forward(self, x_BF: torch.Tensor, cache: list[torch.Tensor]) -> torch.Tensor:
        cache.append(x_BF)
        return torch.cat(cache)


class Inside(nn.Module):
    """Calls its child inside a context."""

    def __init__(self, context: Callable[[], AbstractContextManager[Any]]) -> None:
        super().__init__()
        self.child, self.context = Noting(), context

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        with self.context():
            output_BF: torch.Tensor = self.child(x_BF)
        return output_BF


class Noting(nn.Module):
    """Notes the contexts that it is called in, where they are not taken back with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.notes = SimpleNamespace(seen=[])

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        self.notes.seen.append(CallContext.current())
        output_BF: torch.Tensor = self.linear(x_BF)
        return output_BF


def test_a_module_that_writes_its_input_is_run_on_what_it_was_given() -> None:
    call = only_call(nn.Sequential(nn.ReLU(inplace=True)), "0", -X)
    assert call.writes_inputs
    for _ in range(2):
        assert call.fresh().args[0].eq(-1).all()
        call.fresh().run(nn.ReLU(inplace=True))


def test_a_cache_that_grows_has_its_length_at_every_call() -> None:
    model = Passing(Growing())
    call = only_call(model, "child", X, [])
    assert call.signature == "(float32[2, 4], ())"
    assert call.writes_inputs
    profile = profile_model(model, (X, []), options=QUICK)
    assert {row.provenance for row in profile.modules} == {"measured"}
    assert call.fresh().args[1] == []


def test_a_module_that_reads_only_is_run_on_the_captured_inputs_themselves() -> None:
    assert not only_call(nn.Sequential(nn.ReLU()), "0", X).writes_inputs


def test_inputs_that_share_memory_still_do_when_they_are_captured() -> None:
    whole = torch.arange(8.0).reshape(2, 4)
    first, second = only_call(Passing(Sum()), "child", whole, whole[:, :2]).args
    assert first.data_ptr() == second.data_ptr() != whole.data_ptr()
    assert second.stride() == (4, 1)


class Sum(nn.Module):
    def forward(self, *parts: torch.Tensor) -> torch.Tensor:
        return sum(part.sum() for part in parts)  # type: ignore[return-value]  # of tensors


def test_an_expanded_input_is_captured_and_counted_as_small_as_it_is() -> None:
    expanded = torch.ones(8).expand(1000, 8)
    seen = observed(nn.Sequential(nn.ReLU()), expanded)["0"]
    (captured,) = seen.calls[0].args
    assert captured.untyped_storage().nbytes() == 32
    assert seen.bytes_moved == 32 + 4 * 8000


def test_a_parameter_among_the_inputs_is_not_copied() -> None:
    class Lending(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.child = nn.Embedding(1000, 4), Sum()

        def forward(self) -> torch.Tensor:
            output: torch.Tensor = self.child(self.table.weight, self.table.weight[:10])
            return output

    model = Lending()
    whole, part = only_call(model, "child").args
    assert whole is model.table.weight
    assert part.data_ptr() == whole.data_ptr()


@pytest.mark.parametrize(
    "context",
    [
        torch.inference_mode,
        torch.enable_grad,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda: torch.autocast("cpu", enabled=False),
    ],
)
@pytest.mark.parametrize("ambient", [torch.no_grad, lambda: torch.autocast("cpu", dtype=torch.float16)])
def test_contexts_are_those_of_the_model_at_every_call(
    context: Callable[[], AbstractContextManager[Any]], ambient: Callable[[], AbstractContextManager[Any]]
) -> None:
    model = Inside(context)
    with ambient():
        profile_model(model, (X,), options=QUICK)
    seen = model.child.notes.seen
    assert len(seen) > 6
    assert len(set(seen)) == 1


def test_calls_in_other_contexts_are_other_calls() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x_BF: torch.Tensor) -> Any:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                low_BF = self.linear(x_BF)
            return low_BF, self.linear(x_BF)

    calls = observed(Mixed(), X)["linear"].calls
    assert [call.signature for call in calls] == ["(float32[2, 4]), autocast(cpu, bfloat16)", "(float32[2, 4])"]
    assert rows_of(Mixed(), X)["linear"].calls == 2


def test_weights_are_cast_in_every_call_under_autocast() -> None:
    model = nn.Linear(256, 256)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        call = only_call(model, "", torch.ones(1, 256))
        with torch.profiler.profile() as seen:
            for _ in range(3):
                call.run(model)
    casts = sum(event.count for event in seen.key_averages() if event.key == "aten::_to_copy")
    assert casts >= 3 * 3
