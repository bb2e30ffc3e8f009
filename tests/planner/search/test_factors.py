import math

import numpy as np
import optuna
import pytest

from planner.search.factors import Axis, Factor
from profiles.errors import InputError

KINDS = Axis(name="kind", offered=("table", "dhe"))
DIM = Axis(name="dim", offered=(4, 8, 16))
K = Axis(name="k", offered=(8, 32), needs={"kind": frozenset({"dhe"})})
FACTOR = Factor(name="g", axes=(KINDS, DIM, K))


def test_a_factor_counts_what_matters_only() -> None:
    assert FACTOR.size == 3 + 3 * 2


def test_every_place_has_choices_of_its_own_that_lead_back_to_it() -> None:
    choices = [FACTOR.choices(place) for place in range(FACTOR.size)]
    assert len({tuple(one.items()) for one in choices}) == FACTOR.size
    assert [FACTOR.place(one) for one in choices] == list(range(FACTOR.size))


def test_choices_are_named_after_the_factor_and_hold_no_more_than_matters() -> None:
    assert FACTOR.choices(0) == {"g.kind": "table", "g.dim": 4}
    assert FACTOR.choices(8) == {"g.kind": "dhe", "g.dim": 16, "g.k": 32}


def test_positions_by_column_say_the_same_as_choices() -> None:
    positions = FACTOR.positions(np.arange(FACTOR.size))
    for place in range(FACTOR.size):
        chosen = FACTOR.own_choices(place)
        for axis in FACTOR.axes:
            position = positions[axis.name][place]
            assert chosen.get(axis.name) == (None if position < 0 else axis.offered[position])


LONG = Axis(name="dim", offered=tuple(range(1, 400_000)))


@pytest.mark.parametrize(
    "factor", [FACTOR, Factor(name="", axes=(KINDS, LONG))], ids=["small", "too large for a table"]
)
def test_places_undo_positions(factor: Factor) -> None:
    places = np.array([0, 3, factor.size // 2, factor.size - 1])
    assert factor.places(factor.positions(places)).tolist() == places.tolist()


def test_corners_are_the_least_and_the_greatest_of_each_kind() -> None:
    corners = [FACTOR.own_choices(place) for place in FACTOR.corners()]
    assert [tuple(one.values()) for one in corners] == [("table", 4), ("table", 16), ("dhe", 4, 8), ("dhe", 16, 32)]


@pytest.mark.parametrize("seed", range(5))
def test_suggested_choices_are_of_the_factor(seed: int) -> None:
    trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed)).ask()
    choices = FACTOR.suggest(trial)
    assert FACTOR.choices(FACTOR.place(choices)) == choices == trial.params


def test_choices_that_are_not_offered_and_places_beyond_the_end_are_refused() -> None:
    with pytest.raises(InputError, match=r"offers no .* under 'g'"):
        FACTOR.place({"g.kind": "table", "g.dim": 5})
    with pytest.raises(InputError, match="places must be in 0 to 8"):
        FACTOR.choices(9)


def test_a_factor_of_more_choices_than_memory_holds_is_only_counted() -> None:
    axes = tuple(Axis(name=f"a{i}", offered=tuple(range(1, 65))) for i in range(10))
    assert Factor(name="", axes=axes).size == math.prod([64] * 10)
