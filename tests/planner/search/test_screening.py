import pytest

from planner.search.screening import screen
from planner.study import SearchSection, SpaceSection
from profiles.errors import InfeasibleError
from tests.planner.search.closed_form import SMALL_SPACE, make_task, predict


def limited(space: SpaceSection = SMALL_SPACE, **constraints: float | str) -> SearchSection:
    return SearchSection(space=space, constraints=constraints)


def test_a_small_space_is_screened_whole() -> None:
    screening = screen(make_task(), predict)
    assert screening.complete
    assert len(screening.screened) == len(screening.feasible) == 3 + 3 * 6


def test_equal_models_are_screened_once() -> None:
    space = SpaceSection(representation=("dhe", "select"), dim=(4,), dhe_k=(8,), dhe_width=(8,), select_largest=(3, 9))
    assert len(screen(make_task(limited(space)), predict).screened) == 1


def test_feasible_candidates_meet_all_constraints() -> None:
    screening = screen(make_task(limited(parameter_bytes="100 kB", flops=5_000)), predict)
    assert 0 < len(screening.feasible) < len(screening.screened)
    for candidate in screening.feasible:
        predicted = predict(candidate.model)
        assert predicted.parameter_bytes <= 100_000
        assert predicted.flops <= 5_000


def test_constraints_that_nothing_meets_name_the_nearest_candidate_and_its_miss() -> None:
    with pytest.raises(
        InfeasibleError, match=r"none of the space's 21 .* table-d2: latency_ms 0\.\d+ is \d+ % above 0.1"
    ):
        screen(make_task(limited(latency_ms=0.1)), predict)


def test_constraints_that_only_contradict_each_other_tell_the_least_of_each() -> None:
    with pytest.raises(InfeasibleError, match=r"least: parameter_bytes [\d,]+, flops [\d,]+"):
        screen(make_task(limited(parameter_bytes="35 kB", flops=2_050)), predict)


def test_a_large_space_is_sampled_with_its_extremes_in() -> None:
    space = SpaceSection(dim=tuple(range(1, 65)), dhe_k=tuple(range(1, 257)))
    screening = screen(make_task(limited(space)), predict, most=20)
    names = {entry.candidate.model.name for entry in screening.screened}
    assert not screening.complete
    assert {"table-d1", "table-d64", "hybrid-d64-k256-w64x1"} <= names
    assert screening.dearest["parameter_bytes"] == max(
        predict(entry.candidate.model).parameter_bytes for entry in screening.screened
    )
    with pytest.raises(InfeasibleError, match=r"none of \d+ candidates"):
        screen(make_task(limited(space, flops=1)), predict, most=20)
