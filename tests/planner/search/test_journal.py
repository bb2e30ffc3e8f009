from pathlib import Path

from optuna.trial import TrialState

from planner.search.journal import Journal
from planner.search.records import TrialRecord
from planner.search.storage import open_study
from tests.planner.search.test_records import make_record

OBJECTIVES = ("auc", "latency_ms")


def open_journal(directory: Path) -> Journal:
    return Journal(open_study(directory, OBJECTIVES), OBJECTIVES, "cpu")


def test_a_trial_whose_record_was_written_before_the_run_died_is_finished_on_resume(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    record = make_record(0)
    journal.study.ask().set_user_attr("record", record.to_object())
    journal.study.ask()
    resumed = open_journal(tmp_path)
    resumed.close_running()
    assert resumed.result.trials == (record,)
    states = [trial.state for trial in open_journal(tmp_path).study.trials]
    assert states == [TrialState.COMPLETE, TrialState.FAIL]


def test_only_trials_that_ended_as_they_should_are_counted(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.finish(journal.study.ask(), make_record(0))
    journal.discard(journal.study.ask(), "key")
    journal.finish(journal.study.ask(), make_record(2, state="infeasible"))
    journal.study.ask()
    journal.close_running()
    assert (journal.finished, journal.asked, journal.idle_streak) == (2, 3, 2)


def test_the_first_reference_point_stays(tmp_path: Path) -> None:
    journal = open_journal(tmp_path)
    journal.set_reference({"auc": 0.5})
    journal.set_reference({"auc": 0.6})
    assert open_journal(tmp_path).result.reference == {"auc": 0.5}


def test_records_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    records: list[TrialRecord] = [make_record(0), make_record(1, state="infeasible"), make_record(2, state="failed")]
    journal = open_journal(tmp_path)
    for record in records:
        journal.finish(journal.study.ask(), record)
    assert list(open_journal(tmp_path).result.trials) == records
