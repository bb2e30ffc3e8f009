import json

import polars as pl
import pytest

from planner.search import SearchResult, TrialRecord
from planner.search.records import TrialState
from planner.search.task import SearchTask
from profiles.errors import InputError
from tests.planner.search.closed_form import make_task, predict, train

TASK: SearchTask = make_task()


def make_record(
    number: int, dim: int = 4, *, state: TrialState = "complete", representation: str = "table"
) -> TrialRecord:
    choices: dict[str, str | int] = {"representation": representation, "dim": dim}
    choices |= {} if representation == "table" else {"dhe_k": 8, "dhe_width": 16, "dhe_depth": 1}
    model = TASK.candidate(choices).model
    predicted, trained = predict(model), train(model, 0)
    metrics = {name: getattr(trained, name) for name in ("auc", "log_loss", "accuracy")} if state == "complete" else {}
    return TrialRecord(
        number=number,
        state=state,
        choices=choices,
        model=model,
        latency_ms=predicted.latency_ms,
        parameter_bytes=predicted.parameter_bytes,
        flops=predicted.flops,
        feasible=state == "complete",
        reason="" if state == "complete" else "flops 3 > 2 (predicted)",
        **metrics,
    )


def make_result(*trials: TrialRecord) -> SearchResult:
    reference = {"auc": 0.5, "latency_ms": 1.0}
    return SearchResult(objectives=("auc", "latency_ms"), latency_device="cpu", trials=trials, reference=reference)


@pytest.mark.parametrize("state", ["complete", "infeasible", "failed"])
@pytest.mark.parametrize("representation", ["table", "hybrid"])
def test_a_record_survives_json(state: TrialState, representation: str) -> None:
    record = make_record(3, state=state, representation=representation)
    assert TrialRecord.from_object(json.loads(json.dumps(record.to_object()))) == record


def test_a_record_with_a_missing_field_is_refused() -> None:
    body = make_record(3).to_object()
    del body["flops"]
    with pytest.raises(InputError, match="flops"):
        TrialRecord.from_object(body)


def test_an_untrained_trial_has_no_auc() -> None:
    with pytest.raises(InputError, match="trial 3: has no auc, since it is infeasible"):
        make_record(3, state="infeasible").value("auc", "cpu")


def test_the_pareto_set_leaves_out_what_is_beaten_and_what_did_not_train() -> None:
    beaten, untrained = make_record(2, 4, representation="dhe"), make_record(3, 1, state="infeasible")
    result = make_result(make_record(0, 2), make_record(1, 8), beaten, untrained)
    assert [trial.number for trial in result.pareto] == [1, 0]


def test_equal_trials_are_all_of_the_front() -> None:
    assert len(make_result(make_record(0, 2), make_record(1, 2)).pareto) == 2
    assert make_result(make_record(0, 2), make_record(1, 2)).best == make_record(0, 2)


def test_the_object_counts_trials_and_lists_the_front_best_first() -> None:
    result = make_result(
        make_record(0, 2), make_record(1, 8), make_record(2, state="infeasible"), make_record(3, state="failed")
    )
    body = json.loads(json.dumps(result.to_object()))
    assert (body["trials"], body["feasible"], body["infeasible"], body["failed"]) == (4, 2, 1, 1)
    assert [point["name"] for point in body["pareto"]] == ["table-d8", "table-d2"]
    assert body["pareto"][0]["latency_ms"] == body["pareto"][0]["latency_ms_by_device"]["cpu"]
    assert 0 < body["hypervolume"] < 1


def test_a_result_without_trials_is_empty() -> None:
    assert make_result().to_object()["pareto"] == []
    assert make_result().best is None
    assert make_result().frame().height == 0


def test_the_frame_has_a_row_per_trial_and_nulls_where_nothing_applies() -> None:
    frame = make_result(make_record(0, representation="dhe"), make_record(1, state="infeasible")).frame()
    assert frame["dhe_k"].to_list() == [8, None]
    assert frame["auc"].null_count() == 1
    assert frame["pareto"].to_list() == [True, False]
    assert frame["latency_ms[gpu]"].to_list() == [0.5, 0.5]
    assert frame.schema["parameter_bytes"] == pl.Int64
