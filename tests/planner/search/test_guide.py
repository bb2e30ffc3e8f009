import numpy as np
import pytest
from numpy.typing import NDArray

from planner.search.evaluation import RungStep
from planner.search.guide import Guide, Prior, spread_out
from planner.search.hypervolume import hypervolume
from planner.search.pool import Pool
from profiles.errors import InputError

RUNGS = (0.1, 0.3, 1.0)


def make_pool(count: int = 150, seed: int = 0) -> tuple[Pool, NDArray[np.float64]]:
    """Candidates whose accuracy grows with size, each kind to another degree, and what it truly is, as a cost."""
    rng = np.random.default_rng(seed)
    size, kind = rng.integers(0, 9, count), rng.integers(0, 4, count)
    latency = 0.1 + 0.03 * size + 0.05 * kind * rng.uniform(0.5, 1.5, count)
    cost = -(0.6 + 0.02 * size * (1 - 0.2 * kind) + 0.04 * kind + rng.normal(scale=0.004, size=count))
    features = np.column_stack((size, *(kind == one for one in range(4)))).astype(float)
    costs_NM = np.column_stack((np.full(count, np.nan), latency, 2.0**size))
    pool = Pool(
        features_NX=features,
        costs_NM=costs_NM,
        reference_M=np.array([-0.5, 0.6, 300.0]),
        ideal_M=np.array([-1.0, 0.0, 0.0]),
    )
    return pool, cost


def follow(
    guide: Guide, cost_N: NDArray[np.float64], rungs: tuple[float, ...], budget: float
) -> tuple[set[int], float]:
    """Train as the guide asks until the budget of whole trainings is spent; who finished, and what was spent."""
    spent, done = 0.0, set[int]()
    while spent < budget and (asked := guide.ask()) is not None:
        candidate, step = asked
        begun = 0.0 if step.after is None else rungs[step.after]
        spent += rungs[step.rung] - begun
        early = 0.1 * (1 - rungs[step.rung])
        guide.tell(candidate, step.rung, [cost_N[candidate] + early], rungs[step.rung] - begun)
        if step.rung == len(rungs) - 1:
            done.add(candidate)
    return done, spent


def covered(pool: Pool, cost_N: NDArray[np.float64], members: set[int]) -> float:
    costs_NM = pool.costs_NM.copy()
    costs_NM[:, 0] = cost_N
    return hypervolume(pool.normalised(costs_NM[sorted(members)], (0, 1, 2)), np.ones(3))


@pytest.mark.parametrize("rungs", [(1.0,), RUNGS])
def test_a_guided_search_finds_in_a_quarter_of_the_trainings_what_chance_finds(rungs: tuple[float, ...]) -> None:
    pool, cost_N = make_pool()
    done, _ = follow(Guide(pool, rungs), cost_N, rungs, 15)
    by_chance = [
        covered(pool, cost_N, set(np.random.default_rng(seed).choice(150, 60, replace=False).tolist()))
        for seed in range(5)
    ]
    assert covered(pool, cost_N, done) > np.mean(by_chance)


def test_a_pool_is_used_up_with_every_candidate_trained_once() -> None:
    pool, cost_N = make_pool(12)
    done, spent = follow(Guide(pool, RUNGS), cost_N, RUNGS, 1e9)
    assert done == set(range(12))
    assert spent == pytest.approx(12)


def test_equal_scores_make_equal_choices() -> None:
    pool, cost_N = make_pool(30)
    one, other = Guide(pool, RUNGS), Guide(pool, RUNGS)
    follow(one, cost_N, RUNGS, 5)
    follow(other, cost_N, RUNGS, 5)
    assert one.ask() == other.ask()


def test_busy_and_dropped_candidates_are_not_asked_for() -> None:
    pool, cost_N = make_pool(9)
    guide = Guide(pool, RUNGS)
    follow(guide, cost_N, RUNGS, 0.3)
    for candidate in range(4):
        guide.drop(candidate)
    asked = {guide.ask(busy) for busy in ([4, 5, 6, 7], [5, 6, 7, 8])}
    assert {one[0] for one in asked if one} == {8, 4}
    assert guide.ask([4, 5, 6, 7, 8]) is None


def test_the_first_steps_are_the_lowest_rung_of_candidates_far_apart() -> None:
    pool, cost_N = make_pool()
    guide = Guide(pool, RUNGS, first=[7, 3])
    assert spread_out(pool, 6, [7, 3])[:2] == (7, 3)
    for candidate in spread_out(pool, 6, [7, 3]):
        assert guide.ask() == (candidate, RungStep(rung=0))
        guide.tell(candidate, 0, [cost_N[candidate]], 0.1)
    assert len(set(spread_out(pool, 30))) == 30


def test_a_search_without_accuracy_is_told_by_its_costs() -> None:
    costs_NM = np.array([[0.9, 0.9], [0.2, 0.2], [0.1, 0.6]])
    pool = Pool(features_NX=np.zeros((3, 1)), costs_NM=costs_NM, reference_M=np.ones(2), ideal_M=np.zeros(2))
    guide = Guide(pool)
    guide.tell(0, 0, [], 1.0)
    guide.tell(2, 0, [], 1.0)
    assert guide.ask() == (1, RungStep(rung=0))


def test_pools_that_do_not_fit_together_are_refused() -> None:
    good = {"features_NX": np.zeros((2, 1)), "reference_M": np.ones(1), "ideal_M": np.zeros(1)}
    with pytest.raises(InputError, match="known for all candidates or for none"):
        Pool(costs_NM=np.array([[0.5], [np.nan]]), **good)
    with pytest.raises(InputError, match="must be worse than"):
        Pool(costs_NM=np.full((2, 1), np.nan), **{**good, "reference_M": np.zeros(1)})
    with pytest.raises(InputError, match="as many rows"):
        Pool(costs_NM=np.full((3, 1), np.nan), **good)
    with pytest.raises(InputError, match="reference and an ideal"):
        Pool(costs_NM=np.full((2, 2), np.nan), **good)


def test_values_for_other_objectives_are_refused() -> None:
    with pytest.raises(InputError, match="needs 1 values"):
        Guide(make_pool()[0]).tell(0, 0, [0.5, 0.5], 1.0)


def test_a_prior_is_believed_until_scores_speak_against_it() -> None:
    pool, cost_N = make_pool(60)
    right = Guide(pool, prior=Prior(mean_N=cost_N, std_N=np.full(60, 0.01)))
    asked = right.ask()
    assert asked is not None
    gains = [covered(pool, cost_N, {one}) for one in range(60)]
    assert gains[asked[0]] > 0.95 * max(gains)
    wrong = Guide(pool, prior=Prior(mean_N=-1.4 - cost_N, std_N=np.full(60, 0.01)))
    follow(wrong, cost_N, (1.0,), 40)
    assert np.corrcoef(wrong.forecast().mean_N, cost_N)[0, 1] > 0.9


def test_what_would_not_come_to_its_end_is_not_begun() -> None:
    pool, cost_N = make_pool(20)
    guide = Guide(pool, RUNGS)
    assert guide.ask(left=0.99) is None
    guide.tell(3, 1, [cost_N[3]], 0.3)
    assert guide.ask(left=0.7) == (3, RungStep(rung=2, after=1))
    assert guide.ask(left_s=0.5) is None


def test_a_pool_that_grows_keeps_what_was_told() -> None:
    pool, cost_N = make_pool(30)
    small = Pool(
        features_NX=pool.features_NX[:20],
        costs_NM=pool.costs_NM[:20],
        reference_M=pool.reference_M,
        ideal_M=pool.ideal_M,
    )
    guide = Guide(small, RUNGS)
    done, _ = follow(guide, cost_N, RUNGS, 4)
    guide.grow(pool)
    more, _ = follow(guide, cost_N, RUNGS, 1e9)
    assert done | more == set(range(30))
    assert not done & more
    with pytest.raises(InputError, match="must not shrink"):
        guide.grow(small)
