"""Trials in the journal: asked, finished once and for all, read back as records."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from planner.search.manifest import read_manifest
from planner.search.records import SearchResult, TrialRecord
from planner.search.storage import JOURNAL, open_study
from profiles.errors import InputError

__all__ = ["Journal", "load_search"]

# The attribute that holds a finished trial whole. It is written as one line, so a kill leaves all of it or nothing.
_RECORD = "record"
_DUPLICATE = "duplicate_of"
_REFERENCE = "reference"
_STATES: Mapping[str, TrialState] = {
    "complete": TrialState.COMPLETE,
    "infeasible": TrialState.PRUNED,
    "failed": TrialState.FAIL,
}


class Journal:
    """The trials of one study. Only the driver of a search writes here."""

    def __init__(self, study: optuna.Study, objectives: tuple[str, ...], latency_device: str) -> None:
        self.study = study
        self._objectives = objectives
        self._latency_device = latency_device
        self._records = {trial.number: _read(trial) for trial in self._ended() if _RECORD in trial.user_attrs}

    @property
    def result(self) -> SearchResult:
        """All finished trials so far."""
        trials = tuple(self._records[number] for number in sorted(self._records))
        reference = self.study.user_attrs.get(_REFERENCE, {})
        return SearchResult(
            objectives=self._objectives, latency_device=self._latency_device, trials=trials, reference=reference
        )

    @property
    def finished(self) -> int:
        """How many trials are finished."""
        return len(self._records)

    @property
    def asked(self) -> int:
        """How many trials ended as they should, duplicates included; those of a dead run are not among them."""
        return sum(1 for _ in self._ended())

    @property
    def idle_streak(self) -> int:
        """How many of the last trials in a row led to no training: duplicates and infeasible ones."""
        streak = 0
        for trial in reversed(list(self._ended())):
            if _DUPLICATE not in trial.user_attrs and trial.state != TrialState.PRUNED:
                break
            streak += 1
        return streak

    def set_reference(self, reference: Mapping[str, float]) -> None:
        """Keep the hypervolume's reference point; the first one stays."""
        if _REFERENCE not in self.study.user_attrs:
            self.study.set_user_attr(_REFERENCE, dict(reference))

    def finish(self, trial: Trial, record: TrialRecord) -> None:
        """Write the record, then tell Optuna."""
        trial.set_user_attr("feasible", record.feasible)
        trial.set_user_attr("reason", record.reason)
        trial.set_user_attr(_RECORD, record.to_object())
        self._tell(record)
        self._records[record.number] = record

    def discard(self, trial: Trial, key: str) -> None:
        """End a trial whose candidate was tried before, or is being tried."""
        trial.set_user_attr(_DUPLICATE, key)
        self.study.tell(trial.number, state=TrialState.FAIL)

    def close_running(self) -> None:
        """End the trials of a run that died: those whose record was written count, the others failed."""
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if _RECORD in trial.user_attrs:
                record = _read(trial)
                self._tell(record)
                self._records[record.number] = record
            else:
                self.study.tell(trial.number, state=TrialState.FAIL)

    def _tell(self, record: TrialRecord) -> None:
        values = None
        if record.state == "complete":
            values = [record.value(name, self._latency_device) for name in self._objectives]
        self.study.tell(record.number, values, state=_STATES[record.state])

    def _ended(self) -> Iterator[FrozenTrial]:
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state.is_finished() and (_RECORD in trial.user_attrs or _DUPLICATE in trial.user_attrs):
                yield trial


def load_search(directory: Path) -> SearchResult:
    """The result of the search in `directory`, from its files alone.

    Raises:
        InputError: there is no search in that folder.
    """
    if not (directory / JOURNAL).exists():
        raise InputError(f"{directory / JOURNAL}: no such file; run a search first")
    asked: Mapping[str, Any] = read_manifest(directory)["search"]
    objectives = tuple(asked["objectives"])
    return Journal(open_study(directory, objectives), objectives, asked["latency_device"]).result


def _read(trial: FrozenTrial) -> TrialRecord:
    return TrialRecord.from_object(trial.user_attrs[_RECORD])
