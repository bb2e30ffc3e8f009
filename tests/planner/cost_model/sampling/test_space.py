from itertools import islice

import numpy as np
import pytest

from planner.cost_model.features import family_of
from planner.cost_model.sampling import Dimension, SamplingSpace, calibration_spaces, natural_sizes, spaces_of
from profiles.component import make_component
from profiles.errors import InputError, UnknownNameError
from representations.components import components_of
from representations.provider import RecommendationProvider
from representations.work import work_of
from tests.representations.models import MODELS

SPACES = (*calibration_spaces(training=True), *calibration_spaces(["host_to_device"]))
LINEAR = next(space for space in SPACES if space.family == "linear")


def test_natural_sizes_hold_ends_powers_and_odd_ones() -> None:
    assert natural_sizes(3, 20) == (3, 4, 6, 8, 11, 12, 16, 20)
    with pytest.raises(InputError, match="1 <= low <= high, but got 5 and 4"):
        natural_sizes(5, 4)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.family)
def test_a_space_draws_distinct_components_within_its_bounds(space: SamplingSpace) -> None:
    drawn = list(islice(space.draws(work_of, seed=0), 40))
    assert len(set(drawn)) == len(drawn) > 20
    assert {family_of(one) for one in (*drawn, *space.corners(work_of))} == {space.family}
    works = [work_of(one) for one in drawn]
    assert max(work.flops for work in works) <= space.most_flops
    assert drawn == list(islice(space.draws(work_of, seed=0), 40))


@pytest.mark.parametrize("space", [one for one in SPACES if one.kind != "embedding_group"], ids=lambda one: one.family)
def test_the_smallest_components_of_every_space_can_be_built(space: SamplingSpace) -> None:
    smallest = min(islice(space.draws(work_of, seed=1), 20), key=lambda one: work_of(one).bytes_moved)
    assert RecommendationProvider().build(smallest, 0).args is not None


def test_gaussian_encoders_have_values_in_pairs() -> None:
    (space,) = (space for space in SPACES if space.family == "dhe_encoder(gaussian)")
    sizes = {int(one["k"]) for one in islice(space.draws(work_of, seed=0), 60)}
    assert len(sizes) > 8
    assert all(k % 2 == 0 for k in sizes)


def test_draws_fill_the_space_evenly() -> None:
    drawn = list(islice(LINEAR.draws(work_of, seed=0), 64))
    logs = np.log2([int(one["in_features"]) for one in drawn])
    counts, _ = np.histogram(logs, bins=4, range=(0, 11))
    assert counts.min() >= 8


def test_every_dimension_is_measured_at_both_ends() -> None:
    corners = LINEAR.corners(work_of)
    assert {one.batch for one in corners} >= {1, 8192}
    assert {int(one["out_features"]) for one in corners} >= {1, 2048}


def test_a_study_s_space_holds_its_components_and_all_its_sizes() -> None:
    components = {placed.component for model in MODELS for batch in (1, 9) for placed in components_of(model, batch)}
    spaces = spaces_of(components, work_of)
    known = [one for space in spaces for one in space.known]
    assert len(known) == len(components)
    assert set(known) == components
    for space in spaces:
        assert all(space.allows(one, work_of) for one in space.known)
        assert set(space.corners(work_of)) <= set(space.known)
    linear = next(space for space in spaces if space.family == "linear")
    values = {dimension.name: dimension.values for dimension in linear.dimensions}
    widths = {int(one["in_features"]) for one in components if one.kind == "linear"}
    assert values["in_features"] == tuple(sorted(widths))


def test_bounds_leave_out_what_is_too_large_or_does_not_exist() -> None:
    huge = make_component("linear", 8192, {"in_features": 2048, "out_features": 2048})
    assert not LINEAR.allows(huge, work_of)
    group = next(space for space in SPACES if space.family == "embedding_group(fbgemm)")
    shape: dict[str, int | float | str] = {"rows": 16, "dim": 4, "pooling": 1.0, "zipf": 0.0, "backend": "fbgemm"}
    assert not group.allows(make_component("embedding_group", 1, shape | {"tables": 26}), work_of)
    concat = next(space for space in SPACES if space.kind == "concat")
    assert not concat.allows(make_component("concat", 1, {"width": 2, "parts": 3}), work_of)


def test_wrong_spaces_are_refused() -> None:
    with pytest.raises(InputError, match="distinct values in order, but got \\(2, 1\\)"):
        Dimension(name="batch", values=(2, 1))
    with pytest.raises(InputError, match="must have a batch and each dimension once"):
        SamplingSpace(kind="linear", dimensions=())
    with pytest.raises(UnknownNameError, match="component kind: unknown name 'liner'"):
        calibration_spaces(["liner"])
