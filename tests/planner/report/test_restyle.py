from typing import Any

import pytest

from planner.report.restyle import grade_marks, undash

LINE: dict[str, Any] = {
    "mark": {"type": "line", "strokeDash": [4, 4]},
    "encoding": {"x": {"field": "a"}, "color": {"field": "policy"}},
}


def test_lines_are_dashed_by_what_they_rest_on() -> None:
    view = grade_marks({"layer": [LINE]})["layer"][0]
    assert view["encoding"]["strokeDash"]["field"] == "provenance"
    assert "fillOpacity" not in view["encoding"]


@pytest.mark.parametrize(("mark", "dashed", "fill"), [("bar", True, 0.18), ("point", False, 0.0)])
def test_points_are_hollow_and_areas_faint_where_estimated(mark: str, dashed: bool, fill: float) -> None:
    encoding = grade_marks({**LINE, "mark": mark})["encoding"]
    scale = encoding["fillOpacity"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True))["estimated"] == fill
    assert ("strokeDash" in encoding) is dashed


def test_marks_without_a_colour_of_their_own_stay_as_they_are() -> None:
    rule = {"mark": "rule", "encoding": {"x": {"field": "sla_ms"}}}
    assert grade_marks({"layer": [rule]}) == {"layer": [rule]}


def test_other_dashes_are_taken_away() -> None:
    assert "strokeDash" not in undash(LINE)["mark"]


def test_a_rule_stands_out_from_the_grid() -> None:
    assert undash({"mark": {"type": "rule"}, "encoding": {}})["mark"]["color"] == "#333"


def test_log_axes_get_few_ticks_unless_they_say_otherwise() -> None:
    log = {"scale": {"type": "log"}}
    encoding = {"x": log, "y": {**log, "axis": {"tickCount": 9}}, "y2": {**log, "axis": None}}
    thin = undash({"mark": "line", "encoding": encoding})["encoding"]
    assert (thin["x"]["axis"], thin["y"]["axis"], thin["y2"]["axis"]) == ({"tickCount": 3}, {"tickCount": 9}, None)


def test_the_given_spec_is_left_alone() -> None:
    undash(LINE)
    grade_marks(LINE)
    assert LINE["mark"] == {"type": "line", "strokeDash": [4, 4]}
    assert set(LINE["encoding"]) == {"x", "color"}
