from typing import get_args

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.search.space import corner_choices, enumerate_choices, first_wishes, space_size, suggest
from planner.study import SpaceSection
from representations.assignment import Representation
from tests.planner.search.closed_form import SMALL_SPACE

numbers = st.lists(st.integers(1, 64), min_size=1, max_size=2, unique=True).map(tuple)
spaces = st.builds(
    SpaceSection,
    representation=st.lists(st.sampled_from(get_args(Representation)), min_size=1, max_size=8, unique=True).map(tuple),
    dim=numbers,
    dhe_k=numbers,
    dhe_width=numbers,
    dhe_depth=numbers,
    select_largest=numbers,
    qr_collisions=numbers,
    tt_rank=numbers,
    robe_compression=numbers,
)


def frozen(choices: object) -> frozenset[object]:
    return frozenset(dict(choices).items())  # type: ignore[call-overload]  # any mapping


@given(spaces)
def test_all_choices_differ_and_are_as_many_as_the_size_says(space: SpaceSection) -> None:
    assert len({frozen(choices) for choices in enumerate_choices(space)}) == space_size(space)


@given(spaces, st.integers(1, 20), st.integers(0, 3))
def test_a_sample_holds_different_choices_of_the_space(space: SpaceSection, most: int, seed: int) -> None:
    sample = {frozen(choices) for choices in enumerate_choices(space, most, seed)}
    assert len(sample) == min(most, space_size(space))
    assert sample <= {frozen(choices) for choices in enumerate_choices(space)}


def test_a_sample_of_a_huge_space_is_drawn_by_its_seed() -> None:
    space = SpaceSection(dim=tuple(range(1, 400)), dhe_k=tuple(range(1, 400)), dhe_width=tuple(range(1, 400)))
    assert enumerate_choices(space, 5, seed=1) == enumerate_choices(space, 5, seed=1)
    assert enumerate_choices(space, 5, seed=1) != enumerate_choices(space, 5, seed=2)


def test_a_table_has_only_a_dim() -> None:
    tables = [choices for choices in enumerate_choices(SMALL_SPACE) if choices["representation"] == "table"]
    assert tables == [{"representation": "table", "dim": dim} for dim in SMALL_SPACE.dim]


@pytest.mark.parametrize("seed", range(10))
def test_suggested_choices_are_of_the_space(seed: int) -> None:
    trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed)).ask()
    choices = suggest(trial, SMALL_SPACE)
    assert choices in enumerate_choices(SMALL_SPACE)
    assert choices == trial.params


@given(spaces)
def test_corners_and_first_wishes_are_of_the_space(space: SpaceSection) -> None:
    members = {frozen(choices) for choices in enumerate_choices(space)}
    assert {frozen(choices) for choices in corner_choices(space)} <= members
    assert {frozen(choices) for choices in first_wishes(space)} <= members


def test_first_wishes_hold_each_representation_once_with_dims_spread() -> None:
    wishes = list(first_wishes(SpaceSection(dim=(16, 4, 8))))
    assert [wish["representation"] for wish in wishes] == ["table", "dhe", "select", "hybrid"]
    assert (wishes[0]["dim"], wishes[-1]["dim"]) == (4, 16)
    assert wishes[1]["dhe_k"] == 64
