import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import torch

from profiles.component import Component, make_component
from profiles.errors import InputError
from profiles.executors import InProcessExecutor
from profiles.measure import CONTENDED_VISITS, best_visits
from profiles.parts import TornLineWarning
from profiles.providers import BuiltComponent, ComponentProvider
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, SweepProgress, plan_groups, sweep
from profiles.visits import Sample, Visit, VisitLog
from tests.profiles.small_provider import QUICK, LinearProvider, broken, linear

SLOW = [make_component("slow", batch) for batch in range(1, 13)]
WIDTHS = (2, 3, 4, 5, 6)
SCRIPT = """
import sys
from pathlib import Path
from profiles.store import ProfileStore
from profiles.sweep import sweep
from tests.profiles.small_provider import LinearProvider
from tests.profiles.test_sweep import ONE_GROUP, SLOW
sweep(SLOW, LinearProvider(), ProfileStore(Path(sys.argv[1])), options=ONE_GROUP)
"""
ONE_GROUP = replace(QUICK, group_size=12)


def run(folder: Path, components: Sequence[Component], options: SweepOptions = QUICK) -> tuple[int, int, int]:
    result = sweep(components, LinearProvider(), ProfileStore(folder), options=options)
    return result.measured, result.reused, len(result.skipped)


def test_every_component_gets_a_measured_row(tmp_path: Path) -> None:
    assert run(tmp_path, [linear(width) for width in WIDTHS]) == (5, 0, 0)
    for row in ProfileStore(tmp_path).load():
        assert (row.provenance, row.class_name, row.fingerprint.threads) == ("measured", "Linear", 1)
        assert row.warm is not None
        assert row.warm.visits == 3
        assert row.cold is None
        assert row.mfu is None
        assert row.flops == 2 * 2 * row_width(row) ** 2


def row_width(row: ComponentProfile) -> int:
    return next(width for width in WIDTHS if f'"in_features":{width}' in row.spec)


def test_known_components_are_not_measured_again(tmp_path: Path) -> None:
    run(tmp_path, [linear(2), linear(3)])
    assert run(tmp_path, [linear(2), linear(3), linear(4)]) == (1, 2, 0)
    assert run(tmp_path, [linear(2)], replace(QUICK, threads=2)) == (1, 0, 0)


def test_the_caller_s_random_generator_is_left_alone(tmp_path: Path) -> None:
    before = torch.random.get_rng_state()
    run(tmp_path, [linear(2)])
    assert torch.equal(before, torch.random.get_rng_state())


def test_equal_components_are_measured_once(tmp_path: Path) -> None:
    assert run(tmp_path, [linear(2), linear(2)]) == (1, 0, 0)


def test_a_component_that_raises_is_skipped_with_the_reason(tmp_path: Path) -> None:
    components = [linear(2), broken(3), make_component("no-such-kind", 1), linear(3)]
    result = sweep(components, LinearProvider(), ProfileStore(tmp_path), options=QUICK)
    reasons = sorted(reason for _, reason in result.skipped)
    assert result.measured == 2
    assert reasons == [
        "InputError: component kind: unknown 'no-such-kind'",
        "RuntimeError: no kernel for (1, 3)",
    ]
    assert run(tmp_path, components) == (0, 2, 2)


def test_skipped_components_are_retried_when_asked(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    first = sweep([broken(3)], LinearProvider(), ProfileStore(folder), options=QUICK)
    again = sweep([broken(3)], LinearProvider(), ProfileStore(folder), options=replace(QUICK, retry_skipped=True))
    assert first.skipped == again.skipped
    assert len(list(folder.glob("part-*"))) == 2


def test_cold_latency_is_measured_beside_or_without_the_warm_one(tmp_path: Path) -> None:
    run(tmp_path, [linear(2)], replace(QUICK, cold=True))
    run(tmp_path, [linear(3)], replace(QUICK, cold=True, warm=False))
    both, cold = ProfileStore(tmp_path).load()
    assert both.warm
    assert both.cold
    assert cold.cold
    assert cold.warm is None


def test_the_thread_count_is_put_back(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    run(tmp_path, [linear(2)], replace(QUICK, threads=before + 1))
    assert torch.get_num_threads() == before
    assert ProfileStore(tmp_path).load()[0].fingerprint.threads == before + 1


def test_progress_counts_up_to_the_end(tmp_path: Path) -> None:
    seen: list[SweepProgress] = []
    components = [linear(2), linear(3), broken(1)]
    sweep(components, LinearProvider(), ProfileStore(tmp_path), options=QUICK, progress=seen.append)
    assert {update.total for update in seen} == {3}
    assert [update.done for update in seen] == sorted(update.done for update in seen)
    assert [update.visits_left for update in seen] == [6, 5, 4, 3, 2, 1, 1, 0, 0]
    assert (seen[-1].done, seen[-1].skipped) == (3, 1)
    assert seen[-1].remaining_s == 0


def test_groups_repeat_whatever_the_order_of_the_components() -> None:
    named = {f"{width:02}": linear(width) for width in range(1, 40)}
    backwards = dict(reversed(named.items()))
    options = SweepOptions(group_size=16)
    groups = plan_groups(named, LinearProvider(), options)
    assert groups == plan_groups(backwards, LinearProvider(), options)
    assert groups != plan_groups(named, LinearProvider(), replace(options, seed=1))
    assert [len(group) for group in groups] == [16, 16, 7]


def test_groups_end_where_their_parameters_get_too_large() -> None:
    named = {str(width): linear(width) for width in (10, 11, 12)}
    options = SweepOptions(group_bytes=LinearProvider().work(linear(12)).parameter_bytes)
    assert [len(group) for group in plan_groups(named, LinearProvider(), options)] == [1, 1, 1]


def test_rows_that_come_twice_or_unasked_are_written_once(tmp_path: Path) -> None:
    class Stutterer(InProcessExecutor):
        def measure(
            self,
            groups: Sequence[tuple[Component, ...]],
            provider: ComponentProvider,
            device: str,
            options: SweepOptions,
            visits: VisitLog | None = None,
        ) -> Iterator[ComponentProfile]:
            for row in super().measure(groups, provider, device, options, visits):
                yield from (row, row, replace(row, content_hash="unasked"))

    store = ProfileStore(tmp_path)
    result = sweep([linear(2)], LinearProvider(), store, executor=Stutterer(), options=QUICK)
    assert result.measured == 1
    assert len(next(tmp_path.glob("part-*")).read_text().splitlines()) == 1


def test_a_killed_sweep_makes_no_visit_twice(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TornLineWarning)
        while len(ProfileStore(tmp_path).visits()) < 14:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
        store = ProfileStore(tmp_path)
        made, finished = set(store.visits()), {row.content_hash: row for row in store.load()}
        assert run(tmp_path, SLOW, ONE_GROUP) == (12 - len(finished), len(finished), 0)
        visits, rows = store.visits(), {row.content_hash: row for row in store.load()}
    assert made <= set(visits)
    assert Counter(visit.content_hash for visit in visits) == dict.fromkeys(rows, 3)
    assert len(rows) == 12
    assert {name: rows[name] for name in finished} == finished
    assert {row.warm.visits for row in rows.values() if row.warm} == {3}


@pytest.mark.parametrize("visits_before_the_end", range(1, 7))
def test_a_sweep_that_was_cut_short_goes_on_after_its_visits(tmp_path: Path, visits_before_the_end: int) -> None:
    told = count(1)

    def stop(now: SweepProgress) -> None:
        assert now.visits_left == 6 - next(told) or now.done
        if now.visits_left == 6 - visits_before_the_end:
            raise KeyboardInterrupt

    store, components = ProfileStore(tmp_path), [linear(2), linear(3)]
    with pytest.raises(KeyboardInterrupt):
        sweep(components, LinearProvider(), store, options=QUICK, progress=stop)
    made = store.visits()
    assert len(made) == visits_before_the_end
    sweep(components, LinearProvider(), store, options=QUICK)
    assert set(made) <= set(store.visits())
    assert len(store.visits()) == 6
    assert len(store.load()) == 2


def test_rows_with_too_few_visits_or_without_a_wanted_latency_are_measured_again(tmp_path: Path) -> None:
    run(tmp_path, [linear(2)])
    assert run(tmp_path, [linear(2)], replace(QUICK, visits=5)) == (1, 0, 0)
    assert run(tmp_path, [linear(2)], replace(QUICK, visits=4)) == (0, 1, 0)
    assert run(tmp_path, [linear(2)], replace(QUICK, warm=False, cold=True)) == (1, 0, 0)
    assert run(tmp_path, [linear(2)], replace(QUICK, cold=True)) == (0, 1, 0)
    (row,) = ProfileStore(tmp_path).load()
    assert row.warm
    assert row.cold
    assert (row.warm.visits, row.cold.visits) == (5, 3)


def test_a_latency_that_was_not_taken_again_is_kept_without_its_visits(tmp_path: Path) -> None:
    run(tmp_path, [linear(2)])
    store = ProfileStore(tmp_path)
    store.compact()
    (before,) = store.load()
    assert run(tmp_path, [linear(2)], replace(QUICK, warm=False, cold=True)) == (1, 0, 0)
    (row,) = store.load()
    assert row.warm == before.warm
    assert row.cold


def test_a_row_is_not_lost_to_a_second_measurement_that_fails(tmp_path: Path) -> None:
    class Failing(LinearProvider):
        def build(self, component: Component, seed: int) -> BuiltComponent:
            raise MemoryError(f"{component.kind} {seed}")

    run(tmp_path, [linear(2)])
    result = sweep([linear(2)], Failing(), ProfileStore(tmp_path), options=replace(QUICK, visits=5))
    assert [reason for _, reason in result.skipped] == ["MemoryError: linear 0"]
    assert [row.provenance for row in ProfileStore(tmp_path).load()] == ["measured"]


def test_the_estimate_grows_with_visits_and_modes() -> None:
    options = SweepOptions(seconds_per_visit=0.1, visits=4, cold=True)
    assert options.estimate_seconds(10) == pytest.approx(8.0)


@pytest.mark.parametrize("bad", [{"threads": 0}, {"group_size": 0}, {"warm": False}, {"visits": 1}])
def test_bad_options_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(InputError, match="but got"):
        replace(QUICK, **bad)  # type: ignore[arg-type]  # one of the cases is a bool


def test_a_device_that_is_not_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not on this machine"):
        sweep([linear(2)], LinearProvider(), ProfileStore(tmp_path), device="tpuv3-chip", options=QUICK)


def test_contended_visits_are_thrown_away_and_what_remains_is_marked(tmp_path: Path) -> None:
    seen: list[SweepProgress] = []
    store = ProfileStore(tmp_path)
    # A module that sleeps holds no processor, as one that waits for it does not.
    sweep([SLOW[0]], LinearProvider(), store, options=replace(QUICK, retakes=2), progress=seen.append)
    (slow,) = store.load()
    assert slow.warm is not None
    assert (slow.warm.visits, slow.figures[CONTENDED_VISITS]) == (3, 3)
    assert [visit.is_contended for visit in store.visits()] == [True] * 5
    assert [now.visits_left for now in seen] == [3, 3, 2, 1, 0, 0]


def test_clean_visits_are_preferred_then_the_least_contended() -> None:
    def visit(name: str, wall_ms: float) -> Visit:
        sample = Sample(latency_ms=1, wall_ms=wall_ms, cpu_ms=1)
        return Visit(content_hash="a", timestamp=name, warm=(sample,), is_contended=wall_ms > 1.05)

    visits = [visit("1", 3), visit("2", 1), visit("3", 2), visit("4", 1)]
    assert [one.timestamp for one in best_visits(visits, 3)] == ["2", "3", "4"]
    assert [one.timestamp for one in best_visits(visits, 1)] == ["2", "4"]
