import numpy as np
import pytest

from planner.search import enumerate_choices, space_size
from planner.search.candidate import build_candidate
from planner.search.columns import space_columns
from planner.study import ModelSection, SpaceSection
from profiles.errors import InputError
from representations.specs import Feature

FEATURES = tuple(Feature(name=name, cardinality=rows) for name, rows in (("a", 5000), ("b", 70), ("c", 900), ("d", 3)))
SPACE = SpaceSection(
    representation=(
        "table",
        "dhe",
        "select",
        "hybrid",
        "quotient-remainder",
        "mixed-dimension",
        "tensor-train",
        "robe",
    ),
    dim=(4, 8),
    dhe_k=(8, 16, 32),
    dhe_width=(8, 24),
    dhe_depth=(1, 2),
    select_largest=(1, 2, 4),
    qr_collisions=(2, 4),
    tt_rank=(2, 4),
    robe_compression=(10, 20),
)


@pytest.mark.parametrize("model", [ModelSection(), ModelSection(interaction="concat", bottom_mlp=(8,), top_mlp=(1,))])
def test_every_column_entry_is_the_candidate_that_its_choices_make(model: ModelSection) -> None:
    places = np.arange(space_size(SPACE))
    columns = space_columns(SPACE, places, FEATURES, 3, model)
    for place, choices in enumerate(enumerate_choices(SPACE)):
        expected = build_candidate(choices, FEATURES, 3, model)
        assert columns.model(place, expected.name) == expected


def test_places_come_in_any_order_and_as_often_as_asked() -> None:
    columns = space_columns(SPACE, np.array([70, 0, 70]), FEATURES, 0, ModelSection())
    choices = enumerate_choices(SPACE)
    for row, place in enumerate((70, 0, 70)):
        assert columns.model(row, "x") == build_candidate(choices[place], FEATURES, 0, ModelSection(), name="x")


def test_places_beyond_the_space_are_refused() -> None:
    size = space_size(SPACE)
    with pytest.raises(InputError, match=f"places must be in 0 to {size - 1}"):
        space_columns(SPACE, np.array([size]), FEATURES, 3, ModelSection())
