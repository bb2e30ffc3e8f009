from collections import Counter
from typing import Any, cast

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from profiles.errors import InputError
from profiles.kernel_time import KernelTime
from profiles.profilers import Finding
from profiles.profilers.kernel_analysis import analyse
from profiles.profilers.kernels import Kernels
from profiles.profilers.operator_names import work_of
from profiles.providers import InputBatch
from tests.profiles.profilers.subjects import findings_of, prepared, subjects_of
from tests.profiles.small_models import Net, Recursive, net_inputs


def net_findings() -> dict[str, Finding]:
    args, kwargs = net_inputs()
    return findings_of(Kernels(passes=2), subjects_of(Net().eval(), *args, kwargs=kwargs))


def calls_of(kernels: tuple[KernelTime, ...], name: str) -> Counter[str | None]:
    return Counter({kernel.path: round(kernel.calls) for kernel in kernels if kernel.kernel == name})


def test_operators_are_under_the_module_that_ran_them_as_often_as_a_pass_runs_them() -> None:
    kernels = net_findings()[""].kernels
    assert calls_of(kernels, "aten::addmm") == {"shared": 2, "blocks.0.linear": 1, "blocks.1.linear": 1}
    assert calls_of(kernels, "aten::mm") == {"blocks.0": 1, "blocks.1": 1}
    assert {kernel.device for kernel in kernels} == {"cpu"}


def test_a_module_s_time_is_its_own_and_its_children_s() -> None:
    found = net_findings()
    times = {path: finding.figures["cpu_time_ms"] for path, finding in found.items()}
    parts = [times[path] for path in ("blocks.0.linear", "blocks.0.activation")]
    assert times["blocks.0"] > sum(parts) > 0
    assert times[""] == pytest.approx(sum(kernel.milliseconds for kernel in found[""].kernels))
    assert found[""].figures["gpu_time_ms"] is None
    assert found["blocks.0.linear"].kernels == ()


def test_of_a_model_all_time_is_attributed_forward_and_nearly_all_backward() -> None:
    args, kwargs = net_inputs(batch=32)
    model = Net()
    assert analyse(subjects_of(model, *args, kwargs=kwargs)[""]).attributed_share == 1.0
    backward = analyse(subjects_of(model, *args, phase="backward", kwargs=kwargs)[""])
    assert backward.attributed_share is not None
    assert backward.attributed_share >= 0.95


def test_a_backward_pass_is_under_the_modules_whose_forward_it_derives() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    kernels = findings_of(Kernels(), subjects_of(model, torch.ones(4, 8), phase="backward"))[""].kernels
    # The first layer's input asks for no gradient, so that one product is enough.
    assert calls_of(kernels, "aten::mm") == {"0": 1, "2": 2}
    assert calls_of(kernels, "aten::threshold_backward") == {"1": 1}
    assert calls_of(kernels, "aten::addmm") == {}
    assert {kernel.phase for kernel in kernels} == {"backward"}


def test_what_a_checkpoint_computes_again_is_time_of_its_module() -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(8, 8)

        def forward(self, x_BF: torch.Tensor) -> Any:
            return checkpoint(self.inner, torch.tanh(x_BF), use_reentrant=False)

    x_BF = torch.ones(4, 8, requires_grad=True)
    kernels = findings_of(Kernels(), subjects_of(Checkpointed(), x_BF, phase="backward"))[""].kernels
    assert calls_of(kernels, "aten::addmm") == {"inner": 1}
    assert calls_of(kernels, "aten::tanh_backward") == {"": 1}


def test_a_fast_path_is_taken_all_the_same() -> None:
    model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)).eval()
    kernels = findings_of(Kernels(), subjects_of(model, torch.ones(2, 3, 8)))[""].kernels
    assert calls_of(kernels, "aten::_transformer_encoder_layer_fwd") == {"0": 1}


def test_a_shared_module_s_work_is_under_the_parent_that_asked_for_it() -> None:
    class Parent(nn.Module):
        def __init__(self, shared: nn.Module, calls: int) -> None:
            super().__init__()
            self.shared, self.calls = shared, calls

        def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
            for _ in range(self.calls):
                x_BF = self.shared.forward(x_BF)
            return x_BF

    shared = nn.Linear(8, 8)
    model = nn.Sequential(Parent(shared, 1), Parent(shared, 2))
    kernels = findings_of(Kernels(), {"": subjects_of(model, torch.ones(4, 8))[""]})[""].kernels
    assert calls_of(kernels, "aten::addmm") == {"0.shared": 1, "1.shared": 2}


def test_a_module_that_calls_itself_counts_its_work_once() -> None:
    analysis = analyse(subjects_of(Recursive(), torch.ones(4, 8))[""])
    assert calls_of(analysis.kernels, "aten::addmm") == {"linear": 3}
    assert analysis.figures["linear"]["cpu_time_ms"] == pytest.approx(
        sum(kernel.milliseconds for kernel in analysis.kernels if kernel.path == "linear")
    )


def test_batches_count_by_their_weights() -> None:
    batches = (InputBatch(args=(torch.ones(4, 8),), weight=3.0), InputBatch(args=(torch.ones(2, 8),)))
    kernels = findings_of(Kernels(), subjects_of(nn.ReLU(), batches=batches))[""].kernels
    assert sum(kernel.calls for kernel in kernels if kernel.kernel == "aten::relu") == pytest.approx(1.0)


def test_the_model_is_left_without_a_trace_of_it() -> None:
    args, kwargs = net_inputs()
    subject = subjects_of(model := Net().eval(), *args, kwargs=kwargs)[""]
    analyse(subject)
    assert not any("forward" in module.__dict__ for module in model.modules())


def test_a_scripted_child_is_one_part() -> None:
    model = nn.Sequential(torch.jit.script(nn.Sequential(nn.Linear(8, 8))), nn.ReLU())
    kernels = findings_of(Kernels(), {"": subjects_of(model, torch.ones(4, 8))[""]})[""].kernels
    assert calls_of(kernels, "aten::addmm") == {"0": 1}
    assert calls_of(kernels, "aten::relu") == {"1": 1}


def test_the_kind_of_work_of_names_in_a_trace() -> None:
    names = ("aten::mm", "aten::gelu", "aten::t", "AddmmBackward0", "autograd engine", "Torch-Compiled Region: 0/0")
    assert [work_of(name) for name in names] == ["product", "elementwise", "data", "data", "data", "unknown"]


def test_without_the_model_nothing_is_found() -> None:
    args, kwargs = net_inputs()
    subjects = subjects_of(Net().eval(), *args, kwargs=kwargs)
    assert findings_of(Kernels(), {"shared": subjects["shared"]}) == {}
    with pytest.raises(InputError, match="passes must be >= 1"):
        Kernels.from_text("passes=0")


@pytest.mark.slow
def test_a_compiled_model_is_one_part_and_what_is_compiled_in_a_model_is_one() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8), nn.ReLU()))
    subject = subjects_of(model, torch.ones(4, 8))[""]
    whole = analyse(prepared(subject, cast("nn.Module", torch.compile(model))))
    assert {kernel.path for kernel in whole.kernels} == {""}
    model[1] = cast("nn.Module", torch.compile(model[1]))
    part = analyse(subject)
    assert {kernel.path for kernel in part.kernels} >= {"0", "1"}


def test_what_runs_inside_one_piece_says_why_it_has_no_figures() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    subjects = subjects_of(model, torch.ones(4, 8))
    compiled = cast("nn.Module", torch.compile(model, backend="eager"))
    found = findings_of(Kernels(), {**subjects, "": prepared(subjects[""], compiled)})
    assert found["0"].figures == {}
    assert found["0"].notes == ("kernels: its time is not told apart, what it is in runs as one piece",)
