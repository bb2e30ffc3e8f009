from dataclasses import replace

import numpy as np
import pytest

from planner.search import SearchResult
from planner.search.forecasts import forecast_frame
from planner.search.importances import explained_share, importances_frame
from planner.search.objective_charts import (
    forecast_chart,
    importances_chart,
    objectives_chart,
    objectives_frame,
    parallel_chart,
    parallel_frame,
    volume_chart,
)
from planner.search.volume import volume_frame
from tests.planner.search.test_records import make_record, make_result

RESULT = make_result(
    make_record(0, 2),
    make_record(1, 8),
    make_record(2, 4, representation="dhe"),
    make_record(3, 8, representation="dhe"),
    make_record(4, state="infeasible"),
)


def timed(result: SearchResult) -> SearchResult:
    trials = tuple(replace(one, train_seconds=2.0 if one.auc else None) for one in result.trials)
    return replace(result, trials=trials)


def test_the_volume_grows_to_that_of_the_result() -> None:
    frame = volume_frame(timed(RESULT))
    assert frame["seconds"].to_list() == [2.0, 4.0, 6.0, 8.0]
    assert frame["hypervolume"].is_sorted()
    assert frame["hypervolume"][-1] == pytest.approx(RESULT.hypervolume)


def test_the_volume_chart_is_a_staircase() -> None:
    body = volume_chart(volume_frame(timed(RESULT))).to_dict()
    assert body["layer"][0]["mark"]["interpolate"] == "step-after"


def test_the_share_explained_is_one_for_the_cause_and_none_for_another() -> None:
    values = np.array([1.0, 1.1, 2.0, 2.1, 1.05, 2.05])
    assert explained_share(["a", "a", "b", "b", "a", "b"], values) > 0.98
    assert explained_share(["x", "y", "x", "y", "x", "y"], values) < 0.2
    assert explained_share(["x"] * 6, values) == 0.0
    assert explained_share(["a", "b", "c", "d", "e", "f"], values) == 0.0


def test_the_most_important_choice_comes_first() -> None:
    frame = importances_frame(RESULT)
    first = frame.filter(frame["objective"] == "auc")["importance"]
    assert first.is_sorted(descending=True)
    assert set(frame["parameter"]) == {"representation", "dim", "dhe_k", "dhe_width", "dhe_depth"}
    assert importances_chart(frame).to_dict()["encoding"]["y"]["sort"][0] == frame["parameter"][0]


def test_what_was_expected_stands_beside_what_came() -> None:
    frame = forecast_frame(RESULT)
    assert frame["number"].to_list() == [trial.number for trial in RESULT.feasible]
    assert (frame["low"] < frame["expected"]).all()
    assert (frame["expected"] < frame["high"]).all()
    assert frame["reached"].to_list() == [trial.auc for trial in RESULT.feasible]
    assert frame.filter(frame["reached"].is_between(frame["low"], frame["high"])).height >= 2
    assert len(forecast_chart(frame, "auc").to_dict()["layer"]) == 3
    assert forecast_frame(make_result(make_record(0))).height == 0


def test_few_trials_have_no_importances() -> None:
    assert importances_frame(make_result(make_record(0))).height == 0


def test_any_objectives_can_be_chosen_and_a_brush_fills_the_table() -> None:
    body = objectives_chart(objectives_frame(RESULT), RESULT.objectives).to_dict()
    bound = {one["name"]: one["bind"]["options"] for one in body["params"] if "bind" in one}
    assert bound == {f"axis_{label}": ["auc", "latency_ms"] for label in ("across", "up", "colour")}
    assert len(body["vconcat"][1]["hconcat"]) == 4


def test_axes_run_from_worst_to_best() -> None:
    frame = parallel_frame(RESULT)
    auc = frame.filter(frame["axis"] == "auc").sort("place")
    latency = frame.filter(frame["axis"] == "latency_ms").sort("place")
    assert auc["text"].cast(float).is_sorted()
    assert latency["text"].cast(float).is_sorted(descending=True)
    assert parallel_chart(frame).to_dict()["layer"][0]["encoding"]["x"]["sort"][-2:] == ["auc", "latency_ms"]


def test_choices_that_play_no_part_have_no_place() -> None:
    frame = parallel_frame(make_result(make_record(0, 2), make_record(1, 4, representation="dhe")))
    assert frame.filter(frame["axis"] == "dhe_k")["number"].to_list() == [1]
