import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from profiles.core_probe import CoreProbe, QuietCore, core_probe
from profiles.errors import InputError
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, sweep
from profiles.timing import TimingOptions, WallClock, time_visit
from profiles.visits import Visit
from tests.profiles.small_provider import LinearProvider, linear


def spin(microseconds: float) -> None:
    end = time.perf_counter_ns() + microseconds * 1e3
    while time.perf_counter_ns() < end:
        pass


class Script(CoreProbe):
    """Reads what it is told to, the last of it for ever."""

    def __init__(self, *readings_us: float) -> None:
        super().__init__(work=lambda: None)
        self._script: Iterator[float] = iter(readings_us)
        self._last = 0.0
        for _ in range(3):
            self.learn(10.0)

    def read(self, enough_us: float = 0.0) -> float:
        del enough_us
        self._last = next(self._script, self._last)
        return self._last


def test_a_reading_is_the_least_time_of_the_work() -> None:
    assert CoreProbe(work=lambda: spin(30)).read() >= 30


def test_a_round_that_is_quick_enough_is_the_last() -> None:
    rounds: list[None] = []
    assert CoreProbe(work=lambda: rounds.append(None)).read(enough_us=1e6) < 1e6
    assert len(rounds) == 1


def test_the_best_is_not_a_fluke() -> None:
    probe = CoreProbe(work=lambda: None)
    assert probe.best_us == float("inf")
    for reading_us in (9.0, 1.0, 8.0, 12.0, 7.0):
        probe.learn(reading_us)
    assert probe.best_us == 8.0


def test_the_probe_of_the_process_is_one() -> None:
    assert core_probe() is core_probe()
    assert 0 < core_probe().read() < 1e6


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it."""
    monkeypatch.delenv("RECPLAN_PATIENCE", raising=False)


def test_it_waits_for_quiet_and_sees_when_it_ends() -> None:
    core = QuietCore(0.1, patience_s=0.05, probe=Script(20.0, 20.0, 10.5, 10.5, 30.0))
    core.wait()
    assert core.stayed()
    assert core.core_us == 10.5
    core.wait()
    assert not core.stayed()
    core.end(is_clean=False)
    assert core.core_us == 30.0
    core.begin_visit()
    assert core.core_us is None


@pytest.mark.parametrize(("factor", "waits"), [("0", False), ("0.5", True)])
def test_the_environment_says_how_patient_all_are(monkeypatch: pytest.MonkeyPatch, factor: str, waits: bool) -> None:
    monkeypatch.setenv("RECPLAN_PATIENCE", factor)
    core = QuietCore(0.1, patience_s=0.02, probe=Script(20.0, 20.0, 10.0))
    core.wait()
    assert core.stayed() == waits


@pytest.mark.parametrize("factor", ["-1", "inf", "much"])
def test_an_environment_without_sense_is_refused(monkeypatch: pytest.MonkeyPatch, factor: str) -> None:
    monkeypatch.setenv("RECPLAN_PATIENCE", factor)
    with pytest.raises(InputError, match=f"RECPLAN_PATIENCE: must be a number >= 0, but got '{factor}'"):
        QuietCore(0.1, patience_s=1.0, probe=Script(1.0))


def test_patience_ends() -> None:
    core = QuietCore(0.1, patience_s=0.01, probe=Script(20.0))
    core.wait()
    assert 0.01 <= core.waited_s < 5
    core.wait()
    assert not core.stayed()


def test_samples_taken_beside_a_neighbour_count_only_where_there_are_no_others() -> None:
    options = TimingOptions(seconds_per_visit=1e-3, min_samples=3, max_wall_over_cpu=1e9)
    never = QuietCore(0.1, patience_s=0, probe=Script(20.0))
    samples = time_visit(lambda: spin(100), WallClock(), options, core=never)
    assert len(samples) >= 3
    assert never.core_us == 20.0
    at_last = QuietCore(0.1, patience_s=0, probe=Script(20.0, 20.0, 10.0))
    assert len(time_visit(lambda: spin(100), WallClock(), options, core=at_last)) >= 3
    assert at_last.core_us == 10.0


def test_a_quieter_core_seen_later_counts_against_earlier_visits() -> None:
    visit = Visit(content_hash="a", timestamp="0", core_us=20.0)
    assert visit.judged(21.0) == visit
    assert visit.judged(19.0).is_contended
    assert not Visit(content_hash="a", timestamp="0").judged(1.0).is_contended
    assert Visit.from_row(visit.to_row()) == visit


def test_a_sweep_is_content_with_clean_visits_and_ends_without_them(tmp_path: Path) -> None:
    easy = SweepOptions(seconds_per_visit=1e-3, min_samples=3, quiet_core=1e9)
    (row,) = _swept(tmp_path / "easy", easy)
    assert row.warm is not None
    assert row.warm.visits == 3
    strict = SweepOptions(
        seconds_per_visit=1e-3, min_samples=3, quiet_core=1e-9, patience=0, agreement=0.02, most_visits=5
    )
    (row,) = _swept(tmp_path / "strict", strict)
    assert row.warm is not None
    assert 3 <= row.warm.visits <= 5
    assert len(list(ProfileStore(tmp_path / "strict").visits())) == row.warm.visits


@pytest.mark.parametrize("bad", [{"quiet_core": 0.0}, {"quiet_core": 0.1, "most_visits": 2}, {"patience": -1.0}])
def test_bad_values_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"quiet_core|most_visits|patience"):
        SweepOptions(**bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tolerance must be > 0"):
        QuietCore(0.0, patience_s=0, probe=Script(1.0))


def _swept(folder: Path, options: SweepOptions) -> tuple[ComponentProfile, ...]:
    store = ProfileStore(folder)
    sweep([linear(8)], LinearProvider(), store, options=options)
    return tuple(store.load())
