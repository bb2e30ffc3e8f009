import numpy as np
import pytest

from planner.search.factors import Choices
from planner.search.space_candidate import sample_models, space_candidate
from planner.search.space_columns import SpaceModels
from planner.search.space_features import SpaceFeatures
from planner.study import GroupSection, SpaceSection
from representations.specs import (
    DheSpec,
    HybridSpec,
    MixedDimensionSpec,
    QuotientRemainderSpec,
    ReducedTableSpec,
    TableSpec,
    TensorTrainSpec,
)
from tests.planner.search.closed_form import make_task
from tests.planner.search.grouped import EVERYTHING, SECTION, make_space

MODEL_AXES = SpaceSection(
    representation=("table", "hybrid"),
    dim=(4, 8),
    dhe_k=(8,),
    dhe_width=(16,),
    interaction=("dot", "concat"),
    bottom_width=(8, 16),
    bottom_depth=(1, 2),
    top_width=(32,),
    top_depth=(1, 2),
)


@pytest.mark.parametrize("section", [SECTION, MODEL_AXES], ids=["groups", "whole models"])
def test_columns_hold_the_candidate_of_each_code(section: SpaceSection) -> None:
    space = make_space(section)
    codes = space.all_codes()
    candidates = SpaceModels(space=space).columns(codes).candidates
    for place, code in enumerate(codes):
        alone = space_candidate(space, space.choices(code)).model
        assert candidates.model(place, alone.name) == alone


def test_choices_decide_the_embedding_of_every_member() -> None:
    large: Choices = {"large.representation": "table", "large.dtype": "float32", "large.kept_rows": 0.25}
    small: Choices = {"small.representation": "table", "small.dtype": "float32", "small.kept_rows": 1.0, "dim": 8}
    model = space_candidate(make_space(), {**large, "large.kept_by": "frequency", **small}).model
    table = TableSpec(dim=8)
    assert model.embeddings == (table, table, ReducedTableSpec(dim=8, rows=1000, kept_by="frequency"))


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({"representation": "table", "dtype": "int8"}, TableSpec(dim=8, dtype="int8", backend="quantised")),
        (
            {"representation": "dhe", "dhe_k": 8, "dhe_width": 16, "dhe_depth": 2},
            DheSpec(dim=8, k=8, widths=(16, 16)),
        ),
        (
            {"representation": "hybrid", "dhe_k": 8, "dhe_width": 16, "dhe_depth": 1},
            HybridSpec(table=TableSpec(dim=4), dhe=DheSpec(dim=4, k=8, widths=(16,))),
        ),
        ({"representation": "quotient-remainder", "qr_collisions": 4}, QuotientRemainderSpec(dim=8, collisions=4)),
        ({"representation": "mixed-dimension", "narrower": 4}, MixedDimensionSpec(dim=8, inner_dim=2)),
        ({"representation": "tensor-train", "tt_rank": 2}, TensorTrainSpec(dim=8, rank=2)),
    ],
    ids=lambda value: str(value.get("representation")) if isinstance(value, dict) else "",
)
def test_each_representation_is_built_as_wide_as_the_model_asks(choices: dict[str, object], expected: object) -> None:
    group = GroupSection(
        name="g",
        representation=EVERYTHING.representation,
        dtype=("float32", "int8"),
        dhe_k=(8,),
        dhe_width=(16,),
        dhe_depth=(1, 2),
        tt_rank=(2,),
    )
    space = make_space(SpaceSection(dim=(8,), groups=(group,)))
    chosen = {f"g.{name}": choice for name, choice in choices.items()} | {"dim": 8}
    assert space_candidate(space, chosen).model.embeddings[2] == expected  # type: ignore[arg-type]  # any choices


def test_widths_of_mlps_are_as_chosen() -> None:
    wanted = {"bottom_width": 16, "bottom_depth": 2, "top_width": 32, "top_depth": 1}
    space = make_space(MODEL_AXES)
    dot = space_candidate(space, {"representation": "table", "dim": 8, "interaction": "dot", **wanted}).model
    concat = space_candidate(space, {"representation": "table", "dim": 8, "interaction": "concat", **wanted}).model
    assert (dot.bottom_mlp, dot.top_mlp) == ((16, 16, 8), (32, 1))
    assert (concat.bottom_mlp, concat.interaction) == ((16, 16, 16), "concat")


def test_names_tell_the_choices_and_keys_the_device() -> None:
    space = make_space(SpaceSection(representation=("table",), dim=(4,), device=("a", "b"), batch=(1, 8)))
    one, other = (space_candidate(space, space.choices(space.all_codes()[place])) for place in (0, 1))
    assert one.model.name == "table-d4-a-n1"
    assert one.model.renamed("") == other.model.renamed("")
    assert one.key != other.key


def test_a_task_makes_candidates_of_its_groups() -> None:
    from planner.study import SearchSection

    task = make_task(SearchSection(space=SECTION))
    choices = task.space.choices(task.space.all_codes()[3])
    candidate = task.candidate(choices)
    assert candidate.key == task.key_of(choices, candidate.model)


def test_sampled_models_are_different_and_hold_the_extremes() -> None:
    space = make_space()
    assert len(sample_models(space, 100, 0)) == space.size
    few = sample_models(space, 6, 0)
    assert len({model.renamed("") for model in few}) == len(few) <= 6


def test_features_describe_choices_and_capacity() -> None:
    space, describe = make_space(), SpaceFeatures(space=make_space())
    columns = SpaceModels(space=space).columns(space.all_codes())
    features_NX = describe(columns)
    assert features_NX.shape == (space.size, len(describe.names))
    capacity = features_NX[:, describe.names.index("capacity[tail]")]
    models = [columns.candidates.model(place) for place in range(space.size)]
    expected = [np.log2(1 + m.embeddings[2].parameter_bytes(m.features[2])) for m in models]
    assert np.allclose(capacity, expected)
