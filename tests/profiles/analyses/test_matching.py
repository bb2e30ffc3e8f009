from typing import Any

from profiles.analyses.matching import Match, match_modules
from profiles.model_profile import SELF_KIND
from profiles.records import ComponentProfile
from tests.profiles.rows import row


def module(path: str, class_name: str = "Linear", spec: str = "8 to 8", **changes: Any) -> ComponentProfile:
    return row(path=path, class_name=class_name, spec=spec, **changes)


def pairs(matches: tuple[Match, ...]) -> list[tuple[str | None, str | None, str | None]]:
    return [(m.before.path if m.before else None, m.after.path if m.after else None, m.by) for m in matches]


def test_modules_of_equal_path_and_class_match_whatever_their_settings() -> None:
    (match,) = match_modules([module("a", spec="8 to 8")], [module("a", spec="8 to 16")])
    assert (match.path, match.by, match.is_changed) == ("a", "path", True)


def test_a_module_that_moved_matches_by_class_and_shapes() -> None:
    matches = match_modules(
        [module("a"), module("head", spec="8 to 2")], [module("a"), module("top.head", spec="8 to 2")]
    )
    assert pairs(matches) == [("a", "a", "path"), ("head", "top.head", "class and shapes")]
    assert not any(match.is_changed for match in matches)


def test_of_a_sequence_with_one_more_layer_only_that_layer_is_new() -> None:
    before = [module("0"), module("1", "ReLU"), module("2", spec="8 to 4")]
    after = [module("0"), module("1", "LayerNorm"), module("2", "ReLU"), module("3", spec="8 to 4")]
    matches = match_modules(before, after)
    assert [match.path for match in matches if match.is_changed] == ["1"]
    assert pairs(matches)[1] == (None, "1", None)


def test_a_replaced_module_matches_by_its_place() -> None:
    (match,) = match_modules([module("act", "GELU")], [module("act", "ReLU")])
    assert (match.by, match.is_changed) == ("place", True)


def test_what_only_one_side_has_is_in_the_result() -> None:
    matches = match_modules([module("a"), module("old", "Conv")], [module("a"), module("new", "Norm")])
    assert pairs(matches) == [("a", "a", "path"), (None, "new", None), ("old", None, None)]
    assert [match.path for match in matches] == ["a", "new", "old"]


def test_phases_match_only_each_other_and_self_rows_are_left_out() -> None:
    before = [module("a"), module("a", phase="backward"), module("(self)", kind=SELF_KIND)]
    matches = match_modules(before, [module("a", phase="backward")])
    assert [(match.phase, match.by) for match in matches] == [("backward", "path"), ("forward", None)]
