import dataclasses
import subprocess
import sys

import pytest
import torch
from torch import nn

from profiles.errors import InputError, MeasurementError
from profiles.preprocessors.batch import BatchSize
from profiles.preprocessors.compilation import Compile
from profiles.profile_options import ProfileOptions
from profiles.walk import profile_target
from profiles.walk.capture import CapturedCall
from profiles.walk.subject import Subject
from tests.profiles.preprocessors.targets import tagger_target, two_layers


def subject(module: nn.Module, *inputs: torch.Tensor, path: str = "part") -> Subject:
    with torch.no_grad():
        calls = tuple(CapturedCall(args=(one,), kwargs={}, signature="") for one in inputs)
    return Subject(path=path, module=module, original=module, calls=calls)


def is_compiled(prepared: Subject) -> bool:
    return isinstance(prepared.module, torch._dynamo.OptimizedModule)


@pytest.mark.parametrize(
    ("text", "name", "mode", "whole_model"),
    [
        ("", "compile", "default", False),
        ("model", "compile(model)", "default", True),
        ("max-autotune", "compile(max-autotune)", "max-autotune", False),
        ("model, reduce-overhead", "compile(model,reduce-overhead)", "reduce-overhead", True),
    ],
)
def test_options_are_a_mode_and_the_model(text: str, name: str, mode: str, whole_model: bool) -> None:
    made = Compile.from_text(text)
    assert (made.name, made.mode, made.whole_model) == (name, mode, whole_model)


@pytest.mark.parametrize("text", ["fast", "default,max-autotune"])
def test_an_unknown_mode_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="compile: must be one of default, max-autotune"):
        Compile.from_text(text)


def test_without_a_compiler_the_target_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(MeasurementError, match="compiler, but there is no 'no-such-compiler'"):
        Compile().prepare_target(two_layers())


@pytest.mark.slow
def test_the_model_is_compiled_only_on_request() -> None:
    whole = subject(nn.Linear(4, 2), path="")
    assert Compile().prepare_subject(whole) is whole
    assert is_compiled(Compile(whole_model=True).prepare_subject(whole))


def test_scripted_and_compiled_modules_stay_as_they_are() -> None:
    compiled: nn.Module = torch.compile(nn.Linear(4, 2))  # type: ignore[assignment]  # a module is made of a module
    prepared = Compile().prepare_subject(subject(compiled, torch.ones(1, 4)))
    assert prepared.module is compiled
    assert prepared.notes == ("compile: a OptimizedModule stays as it is",)


def test_more_modules_are_compiled_than_torch_keeps_by_default() -> None:
    x_BF, reference = torch.rand(3, 4), torch._dynamo.utils.counters
    reference.clear()
    prepared = [
        Compile(backend="aot_eager").prepare_subject(subject(nn.Linear(4, width), x_BF)) for width in range(1, 13)
    ]
    assert reference["stats"]["unique_graphs"] == 12
    assert not reference["recompile_limit"]
    for one in prepared:
        assert torch.allclose(one.module(x_BF), one.original(x_BF), atol=1e-6)
        assert one.figures["compile_seconds"] > 0


def test_each_shape_is_compiled_before_the_first_visit() -> None:
    prepared = Compile(backend="aot_eager").prepare_subject(
        subject(nn.Linear(4, 2), torch.rand(3, 4), torch.rand(5, 4))
    )
    torch._dynamo.utils.counters.clear()
    for call in prepared.calls:
        with prepared.context(call):
            prepared.run(call)
    assert not torch._dynamo.utils.counters["stats"]


def test_the_backward_pass_is_compiled_too_and_leaves_no_gradient() -> None:
    module, x_BF = nn.Linear(4, 2), torch.rand(3, 4, requires_grad=True)
    forward = subject(module)
    call = CapturedCall(args=(x_BF,), kwargs={}, signature="")
    prepared = Compile(backend="aot_eager").prepare_subject(
        dataclasses.replace(forward, phase="backward", calls=(call,))
    )
    assert is_compiled(prepared)
    assert module.weight.grad is None
    assert x_BF.grad is None


@pytest.mark.slow
def test_importing_it_does_not_load_the_compiler() -> None:
    code = "import sys, profiles.preprocessors.compilation; assert 'torch._dynamo' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_whatever_the_order_modules_are_compiled_after_their_calls_have_grown() -> None:
    torch._dynamo.utils.counters.clear()
    profile = profile_target(
        tagger_target(),
        options=ProfileOptions(threads=1, seconds_per_visit=1e-4, budget_s=0.0, include=("head",)),
        preprocessors=[Compile(backend="aot_eager"), BatchSize(8, captured=4)],
    )
    assert profile.rows[0].preprocessors == ("batch(8@4)", "compile")
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
