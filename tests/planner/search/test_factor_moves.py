import numpy as np

from planner.search.factor_moves import FactorMoves
from planner.search.factors import Axis, Choices, Factor

FACTOR = Factor(
    name="",
    axes=(
        Axis(name="kind", offered=("table", "dhe")),
        Axis(name="dim", offered=(16, 4, 8)),
        Axis(name="k", offered=(8, 32), needs={"kind": frozenset({"dhe"})}),
    ),
)
MOVES = FactorMoves(factor=FACTOR)


def differences(one: Choices, other: Choices) -> set[str]:
    return {name for name in {*one, *other} if one.get(name) != other.get(name)}


def test_a_mutation_changes_one_choice_that_matters() -> None:
    before = np.tile(np.arange(FACTOR.size), 40)
    after = MOVES.mutated(before, np.random.default_rng(0))
    for old, new in zip(before.tolist(), after.tolist(), strict=True):
        changed = differences(FACTOR.own_choices(old), FACTOR.own_choices(new)) - {"k"}
        assert len(changed) <= 1


def test_every_choice_is_reached_by_mutations() -> None:
    places, rng = np.zeros(200, dtype=np.int64), np.random.default_rng(0)
    for _ in range(20):
        places = MOVES.mutated(places, rng)
    assert set(places.tolist()) == set(range(FACTOR.size))


def test_a_mixture_has_every_choice_from_one_of_the_two() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, FACTOR.size, (2, 100))
    for one, other, child in zip(left, right, MOVES.mixed(left, right, rng), strict=True):
        parents = [FACTOR.own_choices(int(one)), FACTOR.own_choices(int(other))]
        for name, choice in FACTOR.own_choices(int(child)).items():
            assert choice in [parent[name] for parent in parents if name in parent]
