import gc
import math
import time
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError, MeasurementError
from profiles.timing import (
    Call,
    Reading,
    Sample,
    TimingOptions,
    WallClock,
    clock_for,
    gc_paused,
    measure_latency,
    summarize,
    time_visit,
)


@dataclass
class ScriptedClock:
    """Says that each call took `call_ms`, and `contention` times that in wall time for the first batches."""

    call_ms: float
    contended_batches: int = 0
    contention: float = 2.0
    sees_contention: bool = True
    repeats: list[int] = field(default_factory=list)

    def read(self, call: Call, repeats: int) -> Reading:
        call()
        self.repeats.append(repeats)
        cpu_ms = self.call_ms * repeats
        is_contended = len(self.repeats) <= self.contended_batches
        wall_ms = cpu_ms * (self.contention if is_contended else 1.0)
        return Reading(latency_ms=wall_ms, wall_ms=wall_ms, cpu_ms=cpu_ms)


def options(**changes: float) -> TimingOptions:
    fields = {"seconds_per_visit": 1e-6, "max_seconds_per_visit": 10.0, "min_samples": 4, "max_samples": 4, **changes}
    return TimingOptions(**fields)  # type: ignore[arg-type]  # whole numbers are given as such


def nothing() -> None:
    pass


def sample(latency_ms: float) -> Sample:
    return Sample(latency_ms=latency_ms, wall_ms=latency_ms, cpu_ms=latency_ms)


def test_short_calls_are_batched_until_a_sample_is_long_enough() -> None:
    clock = ScriptedClock(call_ms=0.004)
    samples = time_visit(nothing, clock, options(min_sample_ms=0.05))
    assert clock.repeats[-1] * 0.004 >= 0.05
    assert clock.repeats[-1] <= 26
    assert [one.latency_ms for one in samples] == pytest.approx([0.004] * 4)


def test_long_calls_are_not_batched() -> None:
    clock = ScriptedClock(call_ms=1.0)
    assert len(time_visit(nothing, clock, options())) == 4
    assert clock.repeats == [1, 1, 1, 1]


def test_contended_samples_are_retaken() -> None:
    clock = ScriptedClock(call_ms=1.0, contended_batches=2)
    samples = time_visit(nothing, clock, options(seconds_per_visit=5.0))
    assert [one.wall_over_cpu for one in samples] == [1.0] * 4
    assert len(clock.repeats) == 6


def test_retaking_ends_with_the_budget_and_the_ratio_tells() -> None:
    clock = ScriptedClock(call_ms=1.0, contended_batches=10**6)
    samples = time_visit(nothing, clock, options())
    latency = summarize([samples] * 3)
    assert len(samples) == 4
    assert latency.wall_over_cpu == pytest.approx(2.0)


def test_retaking_ends_after_twice_the_samples() -> None:
    clock = ScriptedClock(call_ms=1.0, contended_batches=10**6)
    assert len(time_visit(nothing, clock, options(seconds_per_visit=9.0))) == 8


def test_a_clock_that_cannot_see_contention_keeps_every_sample() -> None:
    clock = ScriptedClock(call_ms=1.0, contended_batches=10**6, sees_contention=False)
    assert len(time_visit(nothing, clock, options(seconds_per_visit=5.0))) == 4


def test_no_sample_starts_after_the_most_seconds() -> None:
    quick = options(max_seconds_per_visit=1e-5)
    assert len(time_visit(lambda: time.sleep(1e-4), WallClock(), quick)) == 1


def test_cold_samples_are_single_calls_after_a_sweep() -> None:
    calls: list[str] = []
    clock = ScriptedClock(call_ms=0.001)
    time_visit(lambda: calls.append("call"), clock, options(), before=lambda: calls.append("sweep"))
    assert calls == ["call", *["sweep", "call"] * 4]
    assert clock.repeats == [1, 1, 1, 1]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was_found(is_enabled: bool) -> None:
    (gc.enable if is_enabled else gc.disable)()
    try:
        with gc_paused():
            assert not gc.isenabled()
        assert gc.isenabled() == is_enabled
        with pytest.raises(ZeroDivisionError), gc_paused():
            _ = 1 / 0
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()


def test_quartiles_are_over_the_samples_of_all_visits() -> None:
    latency = summarize([[sample(1.0), sample(2.0)], [sample(3.0), sample(4.0)], [sample(5.0)]])
    assert (latency.p25_ms, latency.median_ms, latency.iqr_ms) == (2.0, 3.0, 2.0)
    assert (latency.n, latency.visits, latency.cpu_ms, latency.wall_over_cpu) == (5, 3, 3.0, 1.0)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_the_quartile_is_at_most_the_median(values: list[float]) -> None:
    latency = summarize([[sample(value) for value in values]])
    assert latency.p25_ms <= latency.median_ms <= max(values) * (1 + 1e-12)
    assert latency.iqr_ms >= 0


def test_no_sample_is_an_error() -> None:
    with pytest.raises(MeasurementError, match="no sample in 3 visits"):
        summarize([[], [], []])


def test_a_call_that_used_no_cpu_waited_for_ever() -> None:
    assert Sample(latency_ms=1.0, wall_ms=1.0, cpu_ms=0.0).wall_over_cpu == math.inf


def test_a_real_call_is_measured_in_three_visits() -> None:
    latency = measure_latency(lambda: sum(range(2000)), options=options(), gap_s=0.0)
    assert 0 < latency.p25_ms <= latency.median_ms
    assert latency.visits == 3
    assert latency.n >= 12
    assert latency.wall_over_cpu is not None


def test_sleeping_shows_as_wall_over_cpu_time() -> None:
    latency = measure_latency(lambda: time.sleep(2e-3), options=options(), gap_s=0.0)
    assert latency.wall_over_cpu is not None
    assert latency.wall_over_cpu > 2


def test_the_processor_has_the_wall_clock() -> None:
    assert isinstance(clock_for("cpu"), WallClock)


@pytest.mark.parametrize(
    "bad", [{"visits": 2}, {"min_samples": 0}, {"min_samples": 5}, {"seconds_per_visit": 0}, {"seconds_per_visit": 11}]
)
def test_bad_options_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"timing: .* but got"):
        options(**bad)
