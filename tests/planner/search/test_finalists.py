from dataclasses import replace
from pathlib import Path

import pytest

from planner.search import SearchResult, Trained, load_search, run_search
from planner.search.front_reasons import front_reasons
from planner.search.noise import seed_noise
from planner.search.records import Repeat
from planner.study import SearchSection
from profiles.errors import InputError, UnknownNameError
from representations.specs import ModelSpec
from tests.planner.search.closed_form import SMALL_SPACE, make_task, predict, train
from tests.planner.search.test_records import make_record, make_result

TASK = make_task(SearchSection(trials=5, space=SMALL_SPACE))


def noisy(spec: ModelSpec, seed: int) -> Trained:
    trained = train(spec, seed)
    return replace(trained, auc=trained.auc + (seed % 101 - 50) * 1e-4)


def repeated(spread: float) -> SearchResult:
    result = make_result(make_record(0, 2), make_record(1, 8))
    repeats = {}
    for trial in result.trials:
        assert trial.auc is not None
        repeats[trial.number] = tuple(
            Repeat(seed=seed, accuracy=0.6, auc=trial.auc + sign * spread, log_loss=0.4, seconds=1.0)
            for seed, sign in ((1, -1), (2, 1))
        )
    return replace(result, repeats=repeats)


def test_every_member_of_the_front_is_trained_from_as_many_seeds(tmp_path: Path) -> None:
    result = run_search(TASK, predict, noisy, directory=tmp_path, finalist_seeds=3)
    assert {len(result.repeats[trial.number]) for trial in result.pareto} == {2}
    assert len({repeat.seed for repeat in result.repeats[result.pareto[0].number]} | {TASK.training_seed}) == 3
    assert load_search(tmp_path) == result


def test_repeats_of_earlier_runs_are_kept(tmp_path: Path) -> None:
    run_search(TASK, predict, noisy, directory=tmp_path, finalist_seeds=2)
    calls: list[int] = []

    def counted(spec: ModelSpec, seed: int) -> Trained:
        calls.append(seed)
        return noisy(spec, seed)

    result = run_search(TASK, predict, counted, directory=tmp_path, finalist_seeds=3)
    assert len(set(calls)) == 1
    assert len(calls) == len(result.pareto)


def test_the_noise_is_pooled_over_candidates() -> None:
    noise = seed_noise(repeated(0.01), "auc")
    assert noise is not None
    assert noise.std == pytest.approx(0.01)
    assert noise.counts == {0: 3, 1: 3}


@pytest.mark.parametrize(("spread", "apart"), [(0.001, True), (0.05, False)])
def test_a_difference_smaller_than_its_noise_is_no_win(spread: float, apart: bool) -> None:
    result = repeated(spread)
    noise = seed_noise(result, "auc")
    assert noise is not None
    assert noise.tells_apart(*result.trials) is apart
    assert front_reasons(result)[0].within_noise is not apart


def test_nothing_repeated_tells_no_noise() -> None:
    result = make_result(make_record(0, 2), make_record(1, 8))
    assert seed_noise(result, "auc") is None
    assert [reason.within_noise for reason in front_reasons(result)] == [None, None]


def test_reasons_say_what_is_best_and_what_the_next_gives_up() -> None:
    best, cheapest = front_reasons(make_result(make_record(0, 2), make_record(1, 8)))
    assert best.why == "best AUC of all"
    assert cheapest.why == "best latency of all"
    assert best.following == 0
    assert best.trade.startswith("table-d2: AUC -0.0400; for latency ")
    assert cheapest.trade == ""


def test_a_member_that_is_best_in_nothing_is_told_why_it_stays() -> None:
    result = replace(
        make_result(make_record(0, 2), make_record(1, 8), make_record(2, 4)),
        objectives=("auc", "latency_ms", "parameter_bytes"),
    )
    assert front_reasons(result)[1].why == "best AUC at this latency and parameter bytes or less"


def test_bad_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="seeds must be >= 1"):
        run_search(TASK, predict, train, directory=tmp_path, finalist_seeds=0)
    with pytest.raises(UnknownNameError, match="latency_ms"):
        seed_noise(make_result(), "latency_ms")
