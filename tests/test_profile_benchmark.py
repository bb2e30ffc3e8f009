from functools import partial

import pytest
import torch
from torch import nn

from profiles.profile_options import ProfileOptions
from profiles.providers import InputBatch, Target
from profiles.walk import profile_target
from profiles.walk.interval import interval_share
from tests.benchmarks import profile_cost
from tests.benchmarks.profile_cost import figures_of
from tests.benchmarks.watching_cost import median_interval, paired_overhead


@pytest.fixture
def target() -> Target:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return Target(name="small", model=model, batches=(InputBatch(args=(torch.ones(2, 4),)),))


def test_costs_are_counted_in_median_forwards(target: Target) -> None:
    profile = profile_target(target, options=ProfileOptions(budget_s=0.0))
    figures = figures_of(profile, cpu_s=12.0, forward_cpu_s=[1.0, 2.0, 9.0])
    assert figures["forwards"] == 6.0
    assert (figures["modules"], figures["run_alone"]) == (3, 3)
    assert figures["forward_ms"]["median"] == 2000.0
    assert 0 <= figures["within_interval"] <= 1


def test_the_noise_is_that_of_timings_far_apart() -> None:
    assert profile_cost.bare_interval([1.0, 2.0, 1.0, 2.0, 1.0, 2.0]) == 0
    drifting = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0]
    assert profile_cost.bare_interval(drifting) == pytest.approx(interval_share([1.0, 2.0, 3.0]))


def test_watching_a_call_costs_something() -> None:
    assert profile_cost.watching_us(50) > 0


def test_every_tool_runs_the_model_and_leaves_no_hook(target: Target) -> None:
    calls: list[object] = []
    forward = partial(lambda: calls.append(target.model(*target.args)))
    profile_cost._under_hooks(target.model, forward)
    profile_cost._under_torch_profiler(forward)
    assert len(calls) == 2
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in target.model.modules())


def test_the_page_sets_the_costs_beside_the_goals(target: Target) -> None:
    one = profile_cost._cost_of(target, 2) | {"fastest_overhead": profile_cost._overhead_of(target, 5)}
    rivals = profile_cost._rivals(target, 2)
    bare = {"bare_ms": {"median": 2.0, "p25": 1.9, "p75": 2.3}, "bare_interval": 0.071, "watching_us": 2.0}
    watched = {name: paired_overhead(target, 3) for name in ("nanogpt", "nanogpt_short", "dlrm")}
    shape = {"sequences": 2, "tokens": 128}
    report = {
        "nanogpt_shape": shape,
        "models": {"nanogpt": one, "dlrm": one},
        "watched": watched,
        "rivals": rivals,
        **bare,
    }
    page = "\n".join(profile_cost.BENCHMARK.describe(report))
    assert "an interval of 7.1% in this run" in page
    assert "| dlrm-bench |" in page
    assert "| 150 |" in page
    assert "| nanogpt, 1 x 16 tokens |" in page
    assert "`torch.profiler`" in page


def test_a_median_s_interval_is_one_of_ranks() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    low, high = median_interval([float(value) for value in range(100)])
    assert (low, high) == (40.0, 59.0)
