from typing import Any

import pytest
import torch
from torch import nn

from profiles.providers.target import InputBatch
from profiles.timing import Reading, Sample, TimingOptions, WallClock
from profiles.walk.capture import observe
from profiles.walk.interval import interval_share
from profiles.walk.isolation import IsolatedRun, LatencySeries
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree

ONE_SAMPLE = TimingOptions(seconds_per_visit=1e-6, min_samples=1, max_samples=1, min_sample_ms=0.0)


class Steady:
    """A clock by which every call takes a millisecond."""

    sees_contention = True

    def read(self, call: Any, repeats: int) -> Reading:
        for _ in range(repeats):
            call()
        return Reading(latency_ms=repeats, wall_ms=repeats, cpu_ms=repeats)


class Noting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def forward(self, x_N: torch.Tensor) -> torch.Tensor:
        self.log.append(f"call {len(x_N)}")
        return x_N


class Adding(nn.Module):
    def forward(self, x_N: torch.Tensor) -> torch.Tensor:
        return x_N.add_(1)


def isolated(module: nn.Module, *batches: InputBatch, **options: Any) -> IsolatedRun:
    calls = tuple(observe(module, module_tree(module), batches)[0].calls)
    subject = Subject(path="m", module=module, original=module, calls=calls)
    return IsolatedRun(subject=subject, clock=Steady(), timing=ONE_SAMPLE, **options)


def batch(size: int, weight: float = 1.0) -> InputBatch:
    return InputBatch(args=(torch.ones(size),), weight=weight, label=f"of {size}")


def test_a_cold_call_warms_the_caches_for_the_warm_one() -> None:
    module = Noting()
    run = isolated(module, batch(2), sweeper=lambda: module.log.append("sweep"))
    module.log.clear()
    run.visit()
    assert module.log == ["sweep", "call 2", "call 2"]


def test_without_a_cold_call_an_untimed_one_warms() -> None:
    module = Noting()
    run = isolated(module, batch(2))
    module.log.clear()
    run.visit()
    assert module.log == ["call 2", "call 2"]
    assert not run.cold.visits


def test_what_was_prepared_gets_ready_before_its_first_cold_call() -> None:
    module = Noting()
    run = isolated(nn.Identity(), batch(2), sweeper=lambda: module.log.append("sweep"))
    run.subject = Subject(path="m", module=module, original=nn.Identity(), calls=run.subject.calls)
    run.visit()
    assert module.log == ["call 2", "sweep", "call 2", "call 2"]


def test_latency_is_the_weighted_mean_over_the_batches() -> None:
    run = isolated(nn.Sequential(nn.Identity()), batch(2, weight=3), batch(5, weight=1))
    for _ in range(3):
        run.visit()
    warm = run.finding().figures["warm"]
    assert (warm.median_ms, warm.visits, run.warm.interval_share) == (pytest.approx(1.0), 3, 0.0)
    assert [(call.batch, call.signature) for call in run.call_profiles(["a", "b"])] == [
        ("a", "(float32[2])"),
        ("b", "(float32[5])"),
    ]


def test_a_visit_takes_only_what_is_asked_for() -> None:
    run = isolated(nn.Identity(), batch(2), sweeper=lambda: None)
    run.visit(cold=False)
    run.visit(warm=False)
    run.visit()
    assert (len(run.warm.visits), len(run.cold.visits)) == (2, 2)
    assert run.spent_s > 0


def test_a_module_that_writes_its_inputs_gets_new_ones_every_time() -> None:
    given_N = torch.zeros(3)
    module = Adding()
    outputs: list[torch.Tensor] = []
    run = isolated(module, InputBatch(args=(given_N,)), sweeper=lambda: None)
    module.register_forward_hook(lambda _module, _args, output: outputs.append(output.clone()))
    run.visit()
    assert len(outputs) == 2
    assert all(output.eq(1).all() for output in outputs)
    assert given_N.eq(0).all()


def test_a_module_that_raises_is_not_visited_again() -> None:
    run = isolated(nn.Identity(), batch(2))
    run.subject = Subject(path="m", module=nn.Linear(3, 3), original=nn.Identity(), calls=run.subject.calls)
    run.visit()
    assert run.failure.startswith("RuntimeError: ")
    run.visit()
    assert (run.warm.visits, run.finding().figures) == ([], {})


def test_the_interval_is_that_of_the_visits_medians() -> None:
    (call,) = isolated(nn.Identity(), batch(2)).subject.calls
    series = LatencySeries(calls=(call,), timing=ONE_SAMPLE, sees_contention=WallClock.sees_contention)
    assert series.of_pass() is None
    for median_ms in (1.0, 1.1):
        outlier, *alike = (Sample(latency_ms=ms, wall_ms=ms, cpu_ms=ms) for ms in (99.0, median_ms, median_ms))
        series.visits.append([(*alike, outlier)])
    assert series.interval_share == interval_share([1.0, 1.1])


def test_visits_under_contention_are_left_aside_once_there_are_others() -> None:
    (call,) = isolated(nn.Identity(), batch(2)).subject.calls
    series = LatencySeries(calls=(call,), timing=ONE_SAMPLE, sees_contention=True)
    for latency_ms, cpu_ms in ((9.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)):
        assert series.used == series.visits
        assert not series.is_clean
        series.visits.append([(Sample(latency_ms=latency_ms, wall_ms=latency_ms, cpu_ms=cpu_ms),)])
    assert series.is_clean
    assert (len(series.used), series.interval_share) == (3, 0.0)


def test_visits_beside_a_neighbour_on_the_core_are_left_aside_once_there_are_others() -> None:
    (call,) = isolated(nn.Identity(), batch(2)).subject.calls
    series = LatencySeries(calls=(call,), timing=ONE_SAMPLE, sees_contention=True)
    for place, latency_ms in enumerate((9.0, 1.0, 1.0, 1.0)):
        assert not series.is_clean
        sample = Sample(latency_ms=latency_ms, wall_ms=latency_ms, cpu_ms=latency_ms)
        series.add([(sample,)], is_busy=place == 0)
    assert (len(series.used), series.is_clean) == (3, True)
