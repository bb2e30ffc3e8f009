from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import nn

from profiles.errors import InputError
from profiles.profilers.memory import Memory, memory_use
from profiles.profilers.session import Allocation
from profiles.providers import InputBatch
from profiles.walk.subject import Phase
from tests.profiles.profilers.subjects import findings_of, prepared, subjects_of
from tests.profiles.small_models import Net, net_inputs

# Four samples of eight float32.
ROW = 4 * 8 * 4


class Calling(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x_BF: torch.Tensor) -> Any:
        return self.function(x_BF)


def chain(layers: int = 3) -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers)))


def peak_and_kept(model: nn.Module, phase: Phase = "forward") -> tuple[int, float]:
    subject = subjects_of(model, torch.ones(4, 8, requires_grad=phase == "backward"), phase=phase)[""]
    figures = findings_of(Memory(), {"": subject})[""].figures
    return figures["peak_memory_bytes"], figures["allocated_bytes"]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (nn.ReLU(), (ROW, ROW)),
        (nn.ReLU(inplace=True), (0, 0)),
        (Calling(lambda x_BF: x_BF.view(2, 16)[:, 3:].T), (0, 0)),
        (Calling(lambda x_BF: (x_BF.relu(), x_BF.tanh())), (2 * ROW, 2 * ROW)),
        (Calling(lambda x_BF: x_BF.tanh().sum()), (ROW + 4, 4)),
        # The third layer's output is made while the second's, its input, is still needed; the first's is gone.
        (chain(), (2 * ROW, ROW)),
    ],
)
def test_peak_and_kept_memory_of_known_cases(model: nn.Module, expected: tuple[int, int]) -> None:
    assert peak_and_kept(model) == expected


def test_what_the_backward_pass_needs_is_kept() -> None:
    peak, kept = peak_and_kept(chain(), "backward")
    assert kept == 3 * ROW
    # At least what is kept, the gradient that comes in, and one that goes out.
    assert peak >= 5 * ROW


def test_without_gradients_a_backward_pass_adds_nothing() -> None:
    assert peak_and_kept(Calling(torch.zeros_like), "backward") == (ROW, ROW)


def test_parts_of_the_model_s_peak_add_up_to_it() -> None:
    args, kwargs = net_inputs()
    found = findings_of(Memory(), subjects_of(Net().eval(), *args, kwargs=kwargs))
    parts = {path: finding.figures["memory_at_peak_bytes"] for path, finding in found.items()}
    assert parts[""] == found[""].figures["peak_memory_bytes"]
    assert parts["blocks.0"] >= parts["blocks.0.activation"] == ROW
    assert parts["table"] == 0


def test_several_calls_and_batches_keep_what_each_keeps_and_peak_at_the_greatest() -> None:
    batches = tuple(InputBatch(args=(torch.ones(size, 8),), weight=1.0) for size in (4, 8))
    figures = findings_of(Memory(), subjects_of(nn.ReLU(), batches=batches))[""].figures
    assert (figures["peak_memory_bytes"], figures["allocated_bytes"]) == (2 * ROW, 1.5 * ROW)


def test_a_module_whose_model_was_not_measured_has_no_part_in_its_peak() -> None:
    subject = subjects_of(chain(), torch.ones(4, 8))["1"]
    assert "memory_at_peak_bytes" not in findings_of(Memory(), {"1": subject})["1"].figures


def test_memory_given_back_that_was_there_before_does_not_count() -> None:
    def change(time_ns: int, address: int, size_bytes: int) -> Allocation:
        return Allocation(time_ns=time_ns, address=address, size_bytes=size_bytes, device="cpu")

    use = memory_use([change(1, 9, -50), change(2, 7, 10), change(3, 8, 5), change(4, 7, -10), change(5, 6, 2)], 3)
    assert (use.peak_bytes, use.kept_bytes) == (15, 15)
    assert [one.address for one in use.at_peak] == [7, 8]


def test_options_of_memory() -> None:
    assert Memory.from_text("depth=2").depth == Memory.from_text("2").depth == 2
    with pytest.raises(InputError, match="depth must be >= 0"):
        Memory.from_text("depth=-1")


def test_what_runs_inside_one_piece_says_why_its_part_of_the_peak_is_not_known() -> None:
    model = chain()
    subjects = subjects_of(model, torch.ones(4, 8))
    compiled = cast("nn.Module", torch.compile(model, backend="eager"))
    found = findings_of(Memory(), {**subjects, "": prepared(subjects[""], compiled)})
    assert "memory_at_peak_bytes" not in found["1"].figures
    assert found["1"].notes == ("memory: its part of the peak is not told apart, what it is in runs as one piece",)
