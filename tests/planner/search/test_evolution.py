import numpy as np
import pytest

from planner.search.capacity_prior import CapacityPrior
from planner.search.dominance import front_of
from planner.search.evolution import Evolution, Judged, evolve
from planner.search.factors import Places
from planner.search.search_space import SearchSpace
from planner.search.space_columns import SpaceModels
from planner.study import GroupSection, SpaceSection
from profiles.errors import InputError
from tests.planner.search.grouped import make_pricer, make_space

SMALL = Evolution(parents=32, children=128, most=900)


def wide_space() -> SearchSpace:
    group = GroupSection(each=True, dhe_k=(8, 16, 32, 64), dhe_width=(8, 16), kept_rows=(1.0, 0.5))
    return make_space(SpaceSection(dim=(4, 8, 16), groups=(group,), top_width=(8, 16, 32), top_depth=(1, 2)))


def judged(codes_NG: Places) -> Judged:
    """By capacity and bytes; places of the first factor above 4 break a limit."""
    columns = SpaceModels(space=wide_space()).columns(codes_NG)
    costs = np.stack([-CapacityPrior()(columns.candidates), make_pricer()(columns)["parameter_bytes"]], axis=1)
    return Judged(codes_NG=codes_NG, costs_NM=costs, excess_N=np.maximum(codes_NG[:, 0] - 4.0, 0.0))


def found(seed: int = 0) -> Judged:
    space, rng = wide_space(), np.random.default_rng(seed)
    return evolve(space, judged, space.sample(64, rng), SMALL, rng)


def test_every_candidate_is_judged_once_and_no_more_than_asked() -> None:
    codes = found().codes_NG
    assert len(np.unique(codes, axis=0)) == len(codes) == SMALL.most


def test_the_same_seed_finds_the_same() -> None:
    assert np.array_equal(found(1).codes_NG, found(1).codes_NG)


def test_it_comes_nearer_to_the_front_than_random_candidates() -> None:
    space = wide_space()
    random = judged(space.sample(SMALL.most, np.random.default_rng(5)))
    both = found().joined(random)
    holds = np.flatnonzero(both.excess_N <= 0)
    front = holds[front_of(both.costs_NM[holds])]
    assert (front < SMALL.most).mean() > 0.8


def test_what_breaks_a_limit_gives_way_to_what_holds_it() -> None:
    excess = found().excess_N
    assert (excess[-200:] > 0).mean() < 0.7 * (excess[:64] > 0).mean()


def test_it_ends_when_nothing_new_is_left() -> None:
    space = make_space()
    rng = np.random.default_rng(0)

    def judge(codes_NG: Places) -> Judged:
        return Judged(codes_NG=codes_NG, costs_NM=codes_NG.astype(float), excess_N=np.zeros(len(codes_NG)))

    assert len(evolve(space, judge, space.sample(4, rng), SMALL, rng)) <= space.size


def test_numbers_below_one_are_refused() -> None:
    with pytest.raises(InputError, match="parents, children and most must be >= 1"):
        Evolution(parents=0)
