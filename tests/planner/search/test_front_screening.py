from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.search.accuracy_model import Floats
from planner.search.capacity_prior import CapacityPrior
from planner.search.front_screening import FrontScreening, ScreenedFront, screen_front
from planner.search.pareto import non_dominated
from planner.search.space_columns import SpaceColumns, SpaceModels
from planner.search.space_features import SpaceFeatures
from planner.study import GroupSection, SpaceSection
from profiles.errors import InfeasibleError, InputError
from tests.planner.search.grouped import make_pricer, make_space

OBJECTIVES = ("auc", "latency_ms", "parameter_bytes")
WIDE = SpaceSection(
    dim=(4, 8, 16), groups=(GroupSection(each=True, dhe_k=(8, 16, 32, 64), dhe_width=(8, 16), kept_rows=(1.0, 0.5)),)
)


class LargerIsBetter:
    """Predicts the less cost, the more capacity the features say; sure of all but the first candidate."""

    def predict(self, features_NX: Floats) -> tuple[Floats, Floats]:
        return -features_NX[:, -3:].sum(axis=1), np.where(np.arange(len(features_NX)) == 0, 100.0, 0.0)


def task(**changes: object) -> FrontScreening:
    return FrontScreening(**{"objectives": OBJECTIVES, "most": 2000, **changes})  # type: ignore[arg-type]  # any field


def brute_force(limits: Mapping[str, float]) -> set[tuple[int, ...]]:
    """The front of a small space by the costs that everyone sees."""
    space = make_space()
    columns = SpaceModels(space=space).columns(space.all_codes())
    costs = make_pricer()(columns)
    capacity = CapacityPrior()(columns.candidates)
    is_held = np.ones(space.size, dtype=np.bool_)
    for name, limit in limits.items():
        is_held &= costs[name] <= limit
    holds = np.flatnonzero(is_held)
    table = np.stack([-capacity, costs["latency_ms"], costs["parameter_bytes"]], axis=1)[holds]
    return {tuple(code) for code in columns.codes_NG[holds[non_dominated(table)]].tolist()}


def front_codes(front: ScreenedFront) -> set[tuple[int, ...]]:
    return {tuple(code) for code in front.columns.codes_NG[front.is_front_K].tolist()}


def test_a_small_space_is_screened_whole_and_its_front_is_the_brute_force_one() -> None:
    front = screen_front(make_space(), make_pricer(), task())
    assert front.complete
    assert front.screened == front.feasible == len(front) == 16
    assert front_codes(front) == brute_force({})


@settings(max_examples=25)
@given(st.floats(0.05, 0.2), st.integers(10_000, 200_000))
def test_the_front_under_limits_is_the_brute_force_one_and_holds_them(latency_ms: float, size: int) -> None:
    limits = {"latency_ms": latency_ms, "parameter_bytes": float(size)}
    expected = brute_force(limits)
    if not expected:
        with pytest.raises(InfeasibleError, match="none of the space's 16 candidates"):
            screen_front(make_space(), make_pricer(), task(limits=limits))
        return
    front = screen_front(make_space(), make_pricer(), task(limits=limits))
    assert front_codes(front) == expected
    assert all((front.costs[name] <= limit).all() for name, limit in limits.items())
    assert front.feasible + len(front.ruled_out) >= min(front.screened, front.feasible + 8)


def test_a_large_space_is_searched_and_the_front_holds_no_dominated_candidate() -> None:
    front = screen_front(make_space(WIDE), make_pricer(), task(keep=60))
    assert not front.complete
    assert (front.screened, len(front)) == (2000, 60)
    assert front.is_front_K[:30].all()
    assert front.screened_per_s > 0
    assert front.choices(0).keys() >= {"dim", "group0-tail.representation"}
    assert front.costs_of(0)["latency_ms"] == front.costs["latency_ms"][0]


def test_what_is_ruled_out_comes_with_its_costs_the_nearest_first() -> None:
    limits = {"parameter_bytes": 30_000.0}
    front = screen_front(make_space(), make_pricer(), task(limits=limits))
    misses = front.ruled_out_costs["parameter_bytes"]
    assert front.broken == {"parameter_bytes": front.screened - front.feasible}
    assert (misses > 30_000).all()
    assert misses.tolist() == sorted(misses.tolist())
    assert front.dearest["parameter_bytes"] >= misses.max()


def test_an_accuracy_model_replaces_the_prior_and_its_doubt_keeps_candidates() -> None:
    space = make_space()
    describe = SpaceFeatures(space=space)
    front = screen_front(space, make_pricer(), task(objectives=("auc",)), accuracy=LargerIsBetter(), describe=describe)
    assert front.quality_K is not None
    assert front.quality_std_K is not None
    assert front_codes(front) == {tuple(space.all_codes()[0].tolist())}


def test_an_accuracy_model_needs_to_be_told_how_candidates_are_described() -> None:
    with pytest.raises(InputError, match="both accuracy and describe"):
        screen_front(make_space(), make_pricer(), task(), accuracy=LargerIsBetter())


def test_a_cost_that_nothing_prices_is_named() -> None:
    def price(columns: SpaceColumns) -> dict[str, Floats]:
        return {"latency_ms": np.zeros(len(columns))}

    with pytest.raises(InputError, match="nothing prices parameter_bytes; known: latency_ms"):
        screen_front(make_space(), price, task())


@pytest.mark.parametrize("changes", [{"objectives": ()}, {"most": 0}, {"keep": 0}])
def test_a_task_without_objective_or_candidates_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InputError, match="screening"):
        task(**changes)
