import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.charts.layout import Rectangle, icicle_layout, parent_indices

# A clock tells nanoseconds.
_times_ms = st.integers(0, 10**12).map(lambda time_ns: time_ns / 1e6)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[float | None], list[int | None]]:
    size = draw(st.integers(1, 12))
    parents: list[int | None] = [None, *(draw(st.integers(0, index - 1)) for index in range(1, size))]
    return draw(st.lists(st.none() | _times_ms, min_size=size, max_size=size)), parents


def test_children_share_their_parent_by_value() -> None:
    places = icicle_layout([8.0, 4.0, 4.0, 2.0], [None, 0, 0, 2])
    assert places == (
        Rectangle(x0=0.0, x1=1.0, end=1.0, depth=0),
        Rectangle(x0=0.0, x1=0.5, end=0.5, depth=1),
        Rectangle(x0=0.5, x1=1.0, end=1.0, depth=1),
        Rectangle(x0=0.5, x1=0.75, end=0.75, depth=2),
    )


def test_children_that_come_to_more_than_their_parent_are_drawn_to_scale() -> None:
    root, first, second = icicle_layout([10.0, 15.0, 5.0], [None, 0, 0])
    assert (root.end, root.x1) == (1.0, 2.0)
    assert (first.x0, first.x1, second.x0, second.x1) == (0.0, 1.5, 1.5, 2.0)


def test_what_grandchildren_come_to_beyond_it_widens_all_above() -> None:
    root, child, grandchild, sibling = icicle_layout([10.0, 5.0, 8.0, 5.0], [None, 0, 1, 0])
    assert (root.x1, child.end, child.x1, grandchild.x1) == (1.3, 0.5, 0.8, 0.8)
    assert sibling.x0 == 0.8


def test_a_node_of_unknown_value_is_as_wide_as_its_children() -> None:
    _, unknown, child = icicle_layout([4.0, None, 1.0], [None, 0, 1])
    assert (unknown.x1, unknown.end, child.x1) == (0.25, 0.25, 0.25)


def test_several_roots_lie_side_by_side() -> None:
    assert [place.x1 for place in icicle_layout([3.0, 1.0], [None, None])] == [0.75, 1.0]


def test_nothing_measured_has_no_width() -> None:
    assert icicle_layout([0.0, None], [None, 0])[1] == Rectangle(x0=0.0, x1=0.0, end=0.0, depth=1)
    assert icicle_layout([], []) == ()


@given(trees())
def test_children_lie_inside_their_parents_and_do_not_overlap(
    tree: tuple[list[float | None], list[int | None]],
) -> None:
    values, parents = tree
    places = icicle_layout(values, parents)
    ends: dict[int, float] = {}
    for place, parent in zip(places, parents, strict=True):
        assert place.x0 <= place.end <= place.x1
        if parent is not None:
            assert place.depth == places[parent].depth + 1
            assert ends.get(parent, places[parent].x0) == place.x0
            assert place.x1 <= places[parent].x1
            ends[parent] = place.x1


@given(trees())
def test_a_module_is_as_wide_as_its_value_tells(tree: tuple[list[float | None], list[int | None]]) -> None:
    values, parents = tree
    places = icicle_layout(values, parents)
    if whole := values[0]:
        for value, place in zip(values, places, strict=True):
            if value is not None:
                assert place.end - place.x0 == pytest.approx(value / whole, rel=1e-6, abs=1e-9 * places[0].x1)


def test_parents_are_the_longest_known_prefixes() -> None:
    assert parent_indices(["", "a", "a.b", "a.(self)", "c.d.e", "ab"]) == (None, 0, 1, 1, 0, 0)
