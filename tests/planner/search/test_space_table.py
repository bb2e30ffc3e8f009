from dataclasses import fields

from planner.search.search_space import search_space
from planner.search.space_table import REASONS, merged_groups, offered_choices, size_text
from planner.study import GroupSection, ModelSection, SpaceSection
from representations.specs import Feature
from tests.planner.search.grouped import make_space


def test_the_size_tells_of_what_it_is_made() -> None:
    assert size_text(make_space()) == "16 candidates: large 8 x small 1 x dim 2"
    assert size_text(make_space(SpaceSection(representation=("table",)))) == "3 candidates"


def test_a_huge_size_is_rounded() -> None:
    features = tuple(Feature(name=f"f{i}", cardinality=100) for i in range(12))
    section = SpaceSection(groups=(GroupSection(each=True),))
    assert size_text(search_space(section, features, 0, ModelSection())).startswith(
        "4.15e+10 candidates: group0-f0 7 x"
    )


def test_every_choice_is_listed_with_what_it_is_offered_for() -> None:
    choices = {(one.group, one.name): one for one in offered_choices(make_space())}
    assert choices["large", "dhe_k"].only_for == "representation dhe, hybrid"
    assert not choices["large", "dhe_k"].is_default
    assert choices["small", "kept_rows"].is_default
    assert choices["", "dim"].offered == (4, 8)


def test_the_default_space_is_all_defaults() -> None:
    assert all(one.is_default for one in offered_choices(make_space(SpaceSection())))
    assert all(one.is_default for one in offered_choices(make_space(SpaceSection(groups=(GroupSection(),)))))


def test_groups_that_offer_the_same_are_told_once() -> None:
    space = make_space(SpaceSection(groups=(GroupSection(name="own", each=True),)))
    choices = offered_choices(space)
    merged = merged_groups(choices)
    assert {one.group for one in merged} == {"own-airport, own-carrier, own-tail", ""}
    assert len(choices) - len(merged) == 2 * sum(one.group == "own-tail" for one in choices)


def test_the_default_is_told_where_something_else_is_offered() -> None:
    choices = {(one.group, one.name): one for one in offered_choices(make_space())}
    assert choices["large", "dhe_k"].default == SpaceSection().dhe_k
    assert choices["large", "dtype"].default == ("float32",)


def test_every_choice_has_a_reason() -> None:
    others = {"name", "features", "cardinality", "each", "groups"}
    offered = {part.name for section in (SpaceSection, GroupSection) for part in fields(section)} - others
    assert offered == set(REASONS)
