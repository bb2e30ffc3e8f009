import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.component import Component, make_component
from profiles.errors import InputError

shapes = st.dictionaries(st.text("abc_", min_size=1, max_size=4), st.integers(0, 9) | st.floats(0, 1), max_size=4)


@given(shapes, st.randoms(use_true_random=False))
def test_the_order_in_which_a_shape_is_written_does_not_matter(shape: dict[str, Any], random: Random) -> None:
    items = list(shape.items())
    random.shuffle(items)
    assert make_component("k", 1, dict(items)) == make_component("k", 1, shape)


@given(shapes)
def test_the_spec_is_json_of_everything_but_the_batch(shape: dict[str, Any]) -> None:
    small, large = make_component("k", 1, shape), make_component("k", 7, shape)
    assert small.spec() == large.spec()
    assert json.loads(small.spec()) == {"kind": "k", **shape, "dtype": "float32", "pass": "forward"}


def test_the_content_hash_depends_on_all_that_determines_the_cost() -> None:
    base = {"in_features": 4}
    variants = [
        make_component("linear", 1, base),
        make_component("linear", 2, base),
        make_component("linear", 1, {"in_features": 5}),
        make_component("linear", 1, base, dtype="float16"),
        make_component("linear", 1, base, phase="backward"),
        make_component("other", 1, base),
    ]
    assert len({variant.content_hash("cpu") for variant in variants}) == len(variants)
    assert variants[0].content_hash("cpu") != variants[0].content_hash("gpu")


def test_the_content_hash_is_the_same_in_every_process() -> None:
    assert make_component("linear", 1, {"in_features": 4}).content_hash("cpu") == "8e020015c9287ddba7034237"


def test_a_shape_is_read_by_name() -> None:
    assert make_component("linear", 1, {"in_features": 4})["in_features"] == 4


def test_bad_components_are_refused() -> None:
    with pytest.raises(InputError, match="batch must be >= 1, but got 0"):
        make_component("linear", 0)
    with pytest.raises(InputError, match="shape must be sorted"):
        Component(kind="linear", batch=1, shape=(("b", 1), ("a", 1)))


@pytest.mark.parametrize("size", [-3, float("nan"), float("inf")])
def test_a_size_that_nothing_can_have_is_refused(size: float) -> None:
    with pytest.raises(InputError, match=f"component 'linear': in_features must be finite and >= 0, but got {size}"):
        make_component("linear", 4, {"in_features": size, "out_features": 3})
