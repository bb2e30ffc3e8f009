import pytest
import torch
from torch import nn

from profiles.core_probe import QuietCore
from profiles.providers.target import InputBatch
from profiles.walk.in_situ_backward import InSituBackward
from profiles.walk.model_passes import ModelPasses
from profiles.walk.tree import module_tree
from tests.profiles.small_models import Raising, Recursive
from tests.profiles.walk.quiet_cores import Alternating, Busy


class InPlace(nn.Module):
    """Works in place after a heavy and a light layer, and calls a frozen one."""

    def __init__(self) -> None:
        super().__init__()
        self.heavy = nn.Linear(256, 256)
        self.act = nn.ReLU(inplace=True)
        self.light = nn.Linear(256, 1)
        self.frozen = nn.Linear(1, 1)

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        hidden_BF: torch.Tensor = self.act(self.heavy(x_BF))
        with torch.no_grad():
            self.frozen(torch.ones(1))
        return self.light(hidden_BF)  # type: ignore[no-any-return]  # a module call gives Any


def timed(
    model: nn.Module, *batches: InputBatch, is_grad: bool = True, core: QuietCore | None = None
) -> InSituBackward:
    contexts = [torch.enable_grad if is_grad else torch.no_grad]
    times = InSituBackward(ModelPasses(module_tree(model), model, batches, "cpu", contexts), core)
    for _ in range(3):
        times.visit()
    return times


def test_every_module_has_the_time_of_the_nodes_that_its_calls_made() -> None:
    model = InPlace()
    times = timed(model, InputBatch(args=(torch.ones(512, 256),)))
    assert times.failure == ""
    whole, heavy, act, light = (times.inclusive(index) for index in range(4))
    assert whole
    assert heavy
    assert act
    assert light
    assert whole.n >= whole.visits == 3
    assert max(heavy.median_ms, act.median_ms, light.median_ms) < whole.median_ms
    assert min(heavy.median_ms, act.median_ms, light.median_ms) > 0
    assert times.inclusive(4) is None
    assert all(parameter.grad is None for parameter in model.parameters())


def test_calls_of_itself_count_once() -> None:
    times = timed(Recursive(64), InputBatch(args=(torch.ones(64, 64),)))
    whole, linear = times.inclusive(0), times.inclusive(1)
    assert whole
    assert linear
    assert linear.median_ms < whole.median_ms


@pytest.mark.parametrize(("core", "used"), [(Alternating(), 0.5), (Busy(), 1.0)])
def test_passes_beside_a_neighbour_are_left_out_where_there_are_others(core: Alternating, used: float) -> None:
    whole = timed(Recursive(64), InputBatch(args=(torch.ones(64, 64),)), core=core).inclusive(0)
    assert whole
    assert whole.visits == 3
    assert whole.n == used * core.looks
    assert core.waits == core.looks


def test_a_model_that_raises_has_no_times_but_the_reason() -> None:
    times = timed(Raising(), InputBatch(args=(torch.ones(2, 8),)))
    assert times.inclusive(0) is None
    assert times.failure.startswith("the backward pass in the model could not be timed: RuntimeError: mat1")


def test_a_model_without_gradients_tells_so() -> None:
    times = timed(InPlace(), InputBatch(args=(torch.ones(2, 256),)), is_grad=False)
    assert times.failure.endswith("no gradient flows from its outputs to an input or parameter")
