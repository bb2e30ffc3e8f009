from dataclasses import asdict

import pytest

from planner.study import CardinalityBounds, GroupSection, SearchSection, SpaceSection
from profiles.edge import parse_object
from profiles.errors import InputError

GROUPED = {
    "dim": [8, 16],
    "groups": [
        {"name": "large", "cardinality": {"min": 1000}, "representation": ["table", "dhe"], "kept_rows": [1.0, 0.5]},
        {"features": ["carrier"], "representation": ["table"], "dtype": ["float32", "int8"]},
    ],
    "top_width": [64],
    "top_depth": [1, 2],
}


def test_groups_are_read_from_a_study() -> None:
    space = parse_object(SpaceSection, GROUPED)
    assert not space.is_flat
    assert space.groups[0].cardinality == CardinalityBounds(min=1000)
    assert space.groups[1].dtype == ("float32", "int8")
    assert space.model_axes == {"top_width": (64,), "top_depth": (1, 2)}


def test_a_flat_space_is_written_as_it_always_was() -> None:
    later = ("groups", "interaction", "bottom_width", "bottom_depth", "top_width", "top_depth", "device", "batch")
    flat = SpaceSection()
    assert flat.is_flat
    assert flat.to_object() == {name: value for name, value in asdict(flat).items() if name not in later}


def test_a_space_that_is_written_is_read_back() -> None:
    space = parse_object(SpaceSection, GROUPED)
    assert parse_object(SpaceSection, space.to_object()) == space


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"groups": [{"features": ["a"], "cardinality": {"min": 1}}]}, "names or a cardinality, not both"),
        ({"groups": [{"name": "a.b"}]}, "name: must not hold a dot"),
        ({"groups": [{"kept_rows": [0.0]}]}, r"kept_rows: must be shares in \(0, 1\]"),
        ({"groups": [{"narrower": [1]}]}, "narrower: must be >= 2"),
        ({"groups": [{"dtype": []}]}, "dtype: must offer at least one choice"),
        ({"groups": [{"name": "a"}, {"name": "a"}]}, "names must differ"),
        ({"groups": [{"cardinality": {}}]}, "needs min, max or both"),
        ({"groups": [{"cardinality": {"min": 9, "max": 3}}]}, "min must be <= max"),
        ({"groups": [{"cardinality": {"min": 0}}]}, "cardinality.min: must be >= 1"),
        ({"groups": [{"representation": ["robe"]}]}, "representation"),
        ({"bottom_width": [8]}, "bottom_width, bottom_depth: give both"),
        ({"batch": [0]}, "batch: must be >= 1"),
    ],
)
def test_bad_choices_are_refused_by_name(body: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        parse_object(SpaceSection, body)


def test_bounds_hold_both_ends() -> None:
    bounds = CardinalityBounds(min=3, max=5)
    assert [bounds.holds(n) for n in (2, 3, 5, 6)] == [False, True, True, False]


def test_candidates_that_choose_their_device_have_to_fit_it() -> None:
    assert SearchSection(space=SpaceSection(device=("a", "b"))).limits == {"memory_share": 1.0}
    assert SearchSection(space=SpaceSection(groups=(GroupSection(),))).limits == {}


def test_every_predicted_cost_may_be_limited_and_no_metric() -> None:
    limits = SearchSection(constraints={"peak_memory_bytes": "1 MB", "capacity_qps": 100, "energy_j": 0.5}).limits
    assert limits == {"peak_memory_bytes": 1e6, "capacity_qps": 100.0, "energy_j": 0.5}
    with pytest.raises(InputError, match="constraints"):
        SearchSection(constraints={"auc": 0.7})
