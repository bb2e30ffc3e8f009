import math
import time

import pytest
import torch
from torch import nn

from profiles.providers.target import InputBatch
from profiles.timing import TimingOptions
from profiles.walk.in_situ import InSituTimes
from profiles.walk.model_passes import ModelPasses
from profiles.walk.tree import module_tree
from tests.profiles.small_models import Raising
from tests.profiles.walk.quiet_cores import Alternating, Busy


class Sleeper(nn.Module):
    """Calls its child on as many rows as it was given, the loop being its own time."""

    def __init__(self) -> None:
        super().__init__()
        self.child = nn.Linear(64, 64)

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        output_BF: torch.Tensor = self.child(x_BF)
        for _ in range(len(x_BF)):
            output_BF = output_BF + 1
        return output_BF


def timed(model: nn.Module, *batches: InputBatch) -> InSituTimes:
    times = InSituTimes(ModelPasses(module_tree(model), model, batches, "cpu", [torch.no_grad]))
    for _ in range(3):
        times.visit(1)
    return times


def rows(count: int, weight: float = 1.0) -> InputBatch:
    return InputBatch(args=(torch.ones(count, 64),), weight=weight)


def test_a_node_s_own_time_and_its_child_s_make_up_its_inclusive_time() -> None:
    times = timed(Sleeper(), rows(30))
    whole, own, child = times.inclusive(0), times.own(0), times.inclusive(1)
    assert whole
    assert own
    assert child
    assert whole.visits == 3
    assert own.median_ms < whole.median_ms
    assert child.median_ms < whole.median_ms
    share = times.share(1)
    assert share is not None
    assert 0 < share < 1


def test_small_models_are_passed_several_times_in_a_visit() -> None:
    whole = timed(nn.ReLU(), InputBatch(args=(torch.ones(1),))).inclusive(0)
    assert whole
    assert whole.n > whole.visits == 3


def test_batches_count_by_their_weight() -> None:
    light, heavy = timed(Sleeper(), rows(200)), timed(Sleeper(), rows(200), rows(1, weight=99.0))
    whole, mean = light.inclusive(0), heavy.inclusive(0)
    assert whole
    assert mean
    assert mean.median_ms < 0.5 * whole.median_ms
    assert heavy.plain_ms < 0.5 * light.plain_ms


def test_a_node_that_is_not_called_has_no_time() -> None:
    times = timed(Raising(), InputBatch(args=(torch.ones(2, 8),)))
    assert times.inclusive(0) is None
    assert times.inclusive(2) is None
    assert times.own(2) is None
    assert times.share(2) is None
    assert times.inclusive(1) is not None


def test_plain_passes_tell_what_timing_adds() -> None:
    times = timed(Sleeper(), rows(100))
    assert min(times.plain_ms, times.plain_process_ms) > 0
    assert times.overhead > -1


def test_the_model_is_left_as_it_was() -> None:
    model = Sleeper()
    timed(model, rows(2))
    assert not any("forward" in vars(module) for module in model.modules())


def test_inputs_that_share_memory_do_so_in_timed_passes() -> None:
    shared: list[bool] = []

    class Aliasing(nn.Module):
        def forward(self, x_N: torch.Tensor, *, y_N: torch.Tensor) -> torch.Tensor:
            shared.append(x_N.data_ptr() == y_N.data_ptr())
            return x_N + y_N

    x_N = torch.ones(3)
    timed(Aliasing(), InputBatch(args=(x_N,), kwargs={"y_N": x_N}))
    assert set(shared) == {True}


class Settling(nn.Module):
    """Its child takes long in the first passes, and next to nothing later."""

    def __init__(self) -> None:
        super().__init__()
        self.child = Slowing()

    def forward(self, x_N: torch.Tensor) -> torch.Tensor:
        spin(0.002)
        output_N: torch.Tensor = self.child(x_N)
        return output_N


class Slowing(nn.Module):
    def __init__(self, long_calls: int = 2) -> None:
        super().__init__()
        self.calls, self.long_calls = 0, long_calls

    def forward(self, x_N: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        spin(0.04 if self.calls <= self.long_calls else 0.0)
        return x_N


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_a_share_is_that_of_most_passes() -> None:
    share = timed(Settling(), InputBatch(args=(torch.ones(1),))).share(1)
    assert share is not None
    assert share < 0.5


@pytest.mark.parametrize(("most", "passes"), [(math.inf, 1), (0.0, 2)])
def test_passes_under_contention_are_taken_again(most: float, passes: int) -> None:
    model, batches = Slowing(long_calls=99), (InputBatch(args=(torch.ones(1),)),)
    timing = TimingOptions(max_wall_over_cpu=most)
    InSituTimes(ModelPasses(module_tree(model), model, batches, "cpu"), timing).visit(1)
    # Each takes a plain pass and one in which calls are timed.
    assert model.calls == 2 * passes


def test_passes_beside_a_neighbour_on_the_core_are_taken_again_and_left_out() -> None:
    core, model = Alternating(), Sleeper()
    where = ModelPasses(module_tree(model), model, (rows(30),), "cpu", [torch.no_grad])
    times = InSituTimes(where, TimingOptions(max_wall_over_cpu=math.inf), core)
    for _ in range(3):
        times.visit(2)
    whole = times.inclusive(0)
    assert whole
    assert times.is_clean
    assert core.waits == core.looks == 2 * whole.n
    assert whole.visits == 3


def test_where_the_core_is_never_quiet_all_passes_count() -> None:
    model = Sleeper()
    times = InSituTimes(ModelPasses(module_tree(model), model, (rows(30),), "cpu", [torch.no_grad]), core=Busy())
    times.visit(2)
    whole = times.inclusive(0)
    assert whole
    assert not times.is_clean
    assert whole.n >= 2
