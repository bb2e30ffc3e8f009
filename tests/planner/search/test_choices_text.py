from planner.search.choices_text import choices_text
from planner.search.factors import Choices


def test_choices_are_told_group_by_group_without_what_is_usual() -> None:
    large: Choices = {"large.representation": "table", "large.dtype": "float32", "large.kept_rows": 0.25}
    choices: Choices = {**large, "large.kept_by": "hash", "small.representation": "dhe", "small.dhe_k": 16, "dim": 8}
    assert choices_text(choices) == "large: table (kept_rows 0.25, kept_by hash); small: dhe (dhe_k 16); dim 8"


def test_choices_of_whole_models_are_told_by_name() -> None:
    assert choices_text({"representation": "table", "dim": 8}) == "representation table; dim 8"
