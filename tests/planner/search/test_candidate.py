import pytest

from planner.search.candidate import build_candidate, candidate_key, candidate_name
from planner.search.space import Choices, enumerate_choices
from planner.study import ModelSection
from representations.specs import Feature
from tests.planner.search.closed_form import FEATURES, SMALL_SPACE

DHE: Choices = {"dim": 4, "dhe_k": 32, "dhe_width": 16, "dhe_depth": 2}


def test_every_choice_of_a_space_makes_a_model_of_its_representation() -> None:
    for choices in enumerate_choices(SMALL_SPACE):
        assert build_candidate(choices, FEATURES, 5, ModelSection()).representation == choices["representation"]


@pytest.mark.parametrize(("representation", "width"), [("table", 4), ("dhe", 4), ("select", 4), ("hybrid", 8)])
def test_under_dot_the_bottom_mlp_ends_in_the_embedding_width(representation: str, width: int) -> None:
    choices = {**DHE, "representation": representation, "select_largest": 1}
    spec = build_candidate(choices, FEATURES, 5, ModelSection(bottom_mlp=(64, 16)))
    assert spec.bottom_mlp == (64, width)
    assert {embedding.width for embedding in spec.embeddings} == {width}


def test_under_concat_the_bottom_mlp_stays() -> None:
    model = ModelSection(interaction="concat", bottom_mlp=(64, 16))
    assert build_candidate({**DHE, "representation": "hybrid"}, FEATURES, 5, model).bottom_mlp == (64, 16)


def test_without_dense_features_there_is_no_bottom_mlp() -> None:
    assert build_candidate({"representation": "table", "dim": 4}, FEATURES, 0, ModelSection()).bottom_mlp == ()


def test_select_makes_a_dhe_of_the_features_with_most_ids() -> None:
    choices = {**DHE, "representation": "select", "select_largest": 2}
    spec = build_candidate(choices, FEATURES, 5, ModelSection())
    assert [embedding.kind for embedding in spec.embeddings] == ["dhe", "table", "dhe"]


def test_among_features_with_equally_many_ids_select_takes_the_first() -> None:
    features = tuple(Feature(name=name, cardinality=9) for name in "abc")
    spec = build_candidate({**DHE, "representation": "select", "select_largest": 1}, features, 5, ModelSection())
    assert [embedding.kind for embedding in spec.embeddings] == ["dhe", "table", "table"]


def test_the_decoder_is_as_deep_and_wide_as_chosen() -> None:
    spec = build_candidate({**DHE, "representation": "dhe"}, FEATURES, 5, ModelSection())
    assert spec.embeddings[0].layers == ((32, 16), (16, 16), (16, 4))  # type: ignore[union-attr]  # a DheSpec


def test_names_tell_the_choices_apart() -> None:
    names = [candidate_name(choices) for choices in enumerate_choices(SMALL_SPACE)]
    assert len(set(names)) == len(names)
    assert candidate_name({**DHE, "representation": "select", "select_largest": 3}) == "select3-d4-k32-w16x2"


@pytest.mark.parametrize(
    ("choices", "kind", "name"),
    [
        (
            {"representation": "quotient-remainder", "qr_collisions": 3},
            "quotient-remainder",
            "quotient-remainder-d4-c3",
        ),
        ({"representation": "mixed-dimension"}, "mixed-dimension", "mixed-dimension-d4"),
        ({"representation": "tensor-train", "tt_rank": 1}, "tensor-train", "tensor-train-d4-r1"),
        ({"representation": "robe", "robe_compression": 2}, "robe", "robe-d4-x2"),
    ],
)
def test_compressed_representations_are_candidates(choices: Choices, kind: str, name: str) -> None:
    spec = build_candidate({**choices, "dim": 4}, FEATURES, 5, ModelSection())
    assert (spec.representation, spec.name) == (kind, name)


def test_choices_that_make_the_same_model_share_a_key() -> None:
    every = build_candidate({**DHE, "representation": "select", "select_largest": 3}, FEATURES, 5, ModelSection())
    dhe = build_candidate({**DHE, "representation": "dhe"}, FEATURES, 5, ModelSection())
    other = build_candidate({**DHE, "representation": "dhe", "dhe_k": 8}, FEATURES, 5, ModelSection())
    assert candidate_key(every) == candidate_key(dhe) != candidate_key(other)
