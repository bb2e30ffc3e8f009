import math
from pathlib import Path

import pytest

from profiles.agreement import VISITS_APART, agreeing, apart, has_settled, quartile_ms
from profiles.errors import InputError
from profiles.store import ProfileStore
from profiles.sweep import SweepOptions, sweep
from profiles.visits import Sample, Visit
from tests.profiles.small_provider import QUICK, LinearProvider, linear


def samples(*latencies_ms: float) -> tuple[Sample, ...]:
    return tuple(Sample(latency_ms=one, wall_ms=one, cpu_ms=one) for one in latencies_ms)


def visits(*latencies_ms: float) -> list[Visit]:
    return [Visit(content_hash="a", timestamp=str(i), warm=samples(one)) for i, one in enumerate(latencies_ms)]


def test_a_quarter_of_the_samples_is_faster_than_the_quartile() -> None:
    assert quartile_ms(samples(4, 1, 3, 2)) == 2
    assert quartile_ms(samples(7)) == 7


def test_visits_near_the_fastest_agree_and_the_two_fastest_are_compared() -> None:
    own = [samples(2.0), samples(1.0, 9.0, 9.0, 9.0, 9.0), samples(2.2), samples(2.3), samples(3.0)]
    assert agreeing(own, 0.05) == (0, 2)
    assert agreeing(own, 0.2) == (0, 2, 3)
    assert apart(own) == pytest.approx(0.1)
    assert agreeing(own[:1], 0.05) == (0,)
    assert apart(own[:1]) == math.inf


def test_neighbours_in_time_may_share_a_spell_and_settle_nothing() -> None:
    assert not has_settled([samples(1.0), samples(1.0), samples(2.0)], 0.05)
    assert has_settled([samples(1.0), samples(2.0), samples(1.0)], 0.05)
    assert not has_settled([samples(1.0), samples(2.0), samples(1.0)[:1], samples(0.9)], 0.05)


def test_a_component_is_visited_until_the_fastest_visits_agree() -> None:
    options = SweepOptions(agreement=0.05, most_visits=6)
    assert options.visits_left(visits(1.0, 1.01)) == 1
    assert options.visits_left(visits(1.0, 2.0, 1.01)) == 0
    assert options.visits_left(visits(1.0, 1.4, 2.0)) == 1
    assert options.visits_left(visits(1.0, 1.4, 2.0, 1.04)) == 0
    assert options.visits_left(visits(1.0, 1.4, 2.0, 1.2, 1.2, 1.2)) == 0


def test_long_calls_are_not_visited_for_ever() -> None:
    options = SweepOptions(agreement=0.05, most_call_seconds=0.5)
    assert options.visits_left(visits(100.0, 140.0, 200.0)) == 1
    assert options.visits_left(visits(100.0, 140.0, 280.0)) == 0


def test_without_an_agreement_the_number_of_visits_is_fixed() -> None:
    assert SweepOptions().visits_left(visits(1.0, 1.4, 2.0)) == 0


@pytest.mark.parametrize("bad", [{"agreement": 0.0}, {"agreement": 0.1, "most_visits": 2}])
def test_bad_agreements_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"sweep: .* but got"):
        SweepOptions(**bad)  # type: ignore[arg-type]  # whole numbers are given as such


def test_a_swept_row_is_of_the_fastest_visits_and_says_how_far_apart_they_are(tmp_path: Path) -> None:
    options = SweepOptions(seconds_per_visit=1e-3, min_samples=4, max_samples=4, agreement=1e-9, most_visits=5)
    store = ProfileStore(tmp_path)
    sweep([linear(2)], LinearProvider(), store, options=options)
    (row,) = store.load()
    made = [visit.warm for visit in store.visits()]
    assert row.warm is not None
    assert (row.warm.visits, len(made)) == (5, 5)
    assert row.warm.n == sum(len(made[place]) for place in agreeing(made, 1e-9)) == 8
    assert row.figures[VISITS_APART] == apart(made) > 0


def test_a_sweep_that_was_cut_short_counts_the_visits_that_it_finds(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    sweep([linear(2)], LinearProvider(), store, options=QUICK)
    settled = SweepOptions(seconds_per_visit=1e-3, visits=3, agreement=1e9)
    assert settled.visits_left(store.visits()) == 0
