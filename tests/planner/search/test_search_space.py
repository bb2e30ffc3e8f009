import numpy as np
import pytest

from planner.search.search_space import search_space
from planner.study import GroupSection, ModelSection, SpaceSection
from profiles.errors import InputError, UnknownNameError
from representations.specs import Feature
from tests.planner.search.grouped import FEATURES, LARGE, SECTION, make_space


def test_the_size_is_the_product_of_what_matters_under_each_choice() -> None:
    # Tables: 1 int8, 1 float32 with all rows, 2 with fewer; DHEs and hybrids: 2 each. Of dims 2.
    assert make_space().size == (4 + 2 + 2) * 1 * 2


def test_all_codes_are_different_candidates_that_lead_back_to_their_codes() -> None:
    space = make_space()
    codes = space.all_codes()
    assert len({tuple(space.choices(code).items()) for code in codes}) == space.size
    assert all((space.code(space.choices(code)) == code).all() for code in codes)


def test_a_space_of_1e12_is_counted_and_sampled_but_never_listed() -> None:
    more = tuple(Feature(name=f"more{i}", cardinality=100) for i in range(9))
    group = GroupSection(each=True, dhe_k=(8, 16, 32, 64, 128), kept_rows=(1.0, 0.5))
    space = search_space(SpaceSection(groups=(group,)), FEATURES + more, 5, ModelSection())
    assert space.size == 12**12 * 3
    codes = space.sample(50, np.random.default_rng(0))
    assert all((space.code(space.choices(code)) == code).all() for code in codes)


def test_features_that_no_group_takes_choose_together_as_the_rest() -> None:
    space = make_space(SpaceSection(groups=(LARGE,)))
    assert [(group.factor.name, group.members) for group in space.groups] == [("large", (2,)), ("rest", (0, 1))]


def test_each_gives_every_feature_choices_of_its_own() -> None:
    space = make_space(SpaceSection(groups=(GroupSection(name="all", each=True),)))
    assert [group.factor.name for group in space.groups] == ["all-airport", "all-carrier", "all-tail"]


def test_without_dense_features_there_is_no_bottom_mlp_to_choose() -> None:
    section = SpaceSection(bottom_width=(8, 16), bottom_depth=(1,))
    assert make_space(section).size == 2 * make_space(section, dense_features=0).size


@pytest.mark.parametrize(
    ("section", "complaint"),
    [
        (SpaceSection(groups=(GroupSection(dim=(4,)),)), "needs one width for all"),
        (SpaceSection(dim=(1,), groups=(GroupSection(representation=("hybrid",)),)), "need a dim >= 2"),
        (SpaceSection(groups=(GroupSection(), GroupSection())), r"groups\[1\]: takes no feature"),
    ],
)
def test_choices_that_make_no_model_together_are_refused(section: SpaceSection, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make_space(section)


def test_a_feature_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"groups\[0\]\.features.*airprot"):
        make_space(SpaceSection(groups=(GroupSection(features=("airprot",)),)))


def test_extremes_hold_the_least_and_the_greatest_of_all_numbers() -> None:
    space = make_space()
    dims = {space.choices(code)["dim"] for code in space.extremes()}
    assert dims == set(SECTION.dim)
