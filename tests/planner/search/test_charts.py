import polars as pl

from planner.search import front_chart, front_frame
from tests.planner.search.test_records import make_record, make_result

RESULT = make_result(
    make_record(0, 2), make_record(1, 8), make_record(2, 4, representation="dhe"), make_record(3, state="infeasible")
)


def test_the_frame_marks_the_front_and_keeps_untrained_trials() -> None:
    frame = front_frame(RESULT)
    assert frame["name"].to_list() == ["table-d2", "table-d8", "dhe-d4-k8-w16x1", "table-d4"]
    assert frame["on_front"].to_list() == [True, True, False, False]
    assert frame.filter(state="infeasible")["auc"].to_list() == [None]


def test_the_frame_can_judge_by_accuracy() -> None:
    frame = front_frame(RESULT, "accuracy")
    assert frame["on_front"].to_list() == frame["pareto"].to_list()


def test_the_chart_has_untrained_trials_a_line_points_and_names() -> None:
    chart = front_chart(front_frame(RESULT), device="cpu").to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["point", "line", "point", "text"]
    points = chart["layer"][2]["encoding"]
    assert points["y"]["field"] == "auc"
    assert points["color"]["scale"]["domain"] == ["table", "dhe"]
    assert {"dim", "dhe_k", "parameter_bytes"} <= {tooltip["field"] for tooltip in points["tooltip"]}
    assert points["x"]["title"] == "predicted latency on cpu (ms)"


def test_a_result_without_trials_still_draws() -> None:
    frame = front_frame(make_result())
    assert isinstance(frame, pl.DataFrame)
    assert front_chart(frame).to_dict()["layer"]
