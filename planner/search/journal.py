"""Trials in the journal: asked, finished once and for all, read back as records."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from planner.search.candidate import candidate_key
from planner.search.manifest import read_manifest
from planner.search.records import Repeat, SearchResult, TrialRecord
from planner.search.screened_counts import ScreenedCounts
from planner.search.storage import JOURNAL, open_study
from profiles.errors import InputError

__all__ = ["Journal", "load_search"]

# The attribute that holds a finished trial whole. It is written as one line, so a kill leaves all of it or nothing.
_RECORD = "record"
# The same of a training that stopped at a rung, as it is if no more comes.
_SO_FAR = "record_so_far"
_DUPLICATE = "duplicate_of"
_REFERENCE = "reference"
_REPEAT = "repeat:"
_SCREENED = "screened"
_STATES: Mapping[str, TrialState] = {
    "complete": TrialState.COMPLETE,
    "infeasible": TrialState.PRUNED,
    "stopped": TrialState.PRUNED,
    "failed": TrialState.FAIL,
}


class Journal:
    """The trials of one study. Only the driver of a search writes here."""

    def __init__(self, study: optuna.Study, objectives: tuple[str, ...], latency_device: str) -> None:
        self.study = study
        self._objectives = objectives
        self._latency_device = latency_device
        self._noted: dict[int, TrialRecord] = {}
        self._records = {trial.number: _read(trial) for trial in self._ended() if _has_record(trial)}

    @property
    def result(self) -> SearchResult:
        """All finished trials so far; one that was stopped counts no more once another carried its training on."""
        numbers = sorted(set(self._records) - self._carried_on())
        trials = tuple(self._records[number] for number in numbers)
        attributes = self.study.user_attrs
        counts = attributes.get(_SCREENED)
        return SearchResult(
            objectives=self._objectives,
            latency_device=self._latency_device,
            trials=trials,
            reference=attributes.get(_REFERENCE, {}),
            repeats=self._repeats(),
            screened=ScreenedCounts(**counts) if counts else None,
        )

    @property
    def finished(self) -> int:
        """How many trials are finished."""
        return len(self._records)

    @property
    def trainings(self) -> float:
        """How many whole trainings' worth was spent: those that were stopped count for as much as they had."""
        spent = {"complete": 1.0, "failed": 1.0, "infeasible": 0.0}
        return sum(spent.get(one.state) or (one.rungs[-1].share if one.rungs else 0.0) for one in self.result.trials)

    @property
    def noted(self) -> tuple[TrialRecord, ...]:
        """The trainings under way that have a score, in the order of their numbers."""
        return tuple(self._noted[number] for number in sorted(self._noted))

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

    def set_screened(self, counts: ScreenedCounts) -> None:
        """Keep what was found before any training, as of now."""
        if self.study.user_attrs.get(_SCREENED) != (found := asdict(counts)):
            self.study.set_user_attr(_SCREENED, found)

    def add_repeat(self, number: int, repeat: Repeat) -> None:
        """Keep another training of a trial's candidate."""
        self.study.set_user_attr(f"{_REPEAT}{number}:{repeat.seed}", asdict(repeat))

    def note(self, trial: Trial, record: TrialRecord) -> None:
        """Write down how far a training is; the trial goes on, or counts as stopped if the search ends before it."""
        if record.number not in self._noted:
            trial.set_user_attr("feasible", record.feasible)
        trial.set_user_attr(_SO_FAR, record.to_object())
        self._noted[record.number] = record

    def finish(self, trial: Trial, record: TrialRecord) -> None:
        """Write the record, then tell Optuna."""
        self._noted.pop(record.number, None)
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
        """End what is under way: what has a record counts as that says, what was begun as stopped, the rest failed."""
        self._noted.clear()
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if _has_record(trial):
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
            if trial.state.is_finished() and (_has_record(trial) or _DUPLICATE in trial.user_attrs):
                yield trial

    def _repeats(self) -> dict[int, tuple[Repeat, ...]]:
        found: dict[int, tuple[Repeat, ...]] = {}
        for name, body in self.study.user_attrs.items():
            if name.startswith(_REPEAT):
                number = int(name.removeprefix(_REPEAT).partition(":")[0])
                found[number] = (*found.get(number, ()), Repeat(**body))
        return found

    def _carried_on(self) -> set[int]:
        """The stopped trials whose candidate was trained further, or is being, in a later one."""
        known = sorted({**self._records, **self._noted}.items())
        latest = {candidate_key(record.model): number for number, record in known}
        return {
            number
            for number, record in self._records.items()
            if record.state == "stopped" and latest[candidate_key(record.model)] > number
        }


def load_search(directory: Path, storage: str | None = None) -> SearchResult:
    """The result of the search in `directory`, from its files alone, or from the database where it keeps its trials.

    Raises:
        InputError: there is no search in that folder.
        StorageError: the database cannot be read.
    """
    if storage is None and not (directory / JOURNAL).exists():
        raise InputError(
            f"{directory / JOURNAL}: no such file; run a search first, or name the storage if its trials lie elsewhere"
        )
    asked: Mapping[str, Any] = read_manifest(directory)["search"]
    objectives = tuple(asked["objectives"])
    return Journal(open_study(directory, objectives, storage), objectives, asked["latency_device"]).result


def _has_record(trial: FrozenTrial) -> bool:
    return _RECORD in trial.user_attrs or _SO_FAR in trial.user_attrs


def _read(trial: FrozenTrial) -> TrialRecord:
    return TrialRecord.from_object(trial.user_attrs.get(_RECORD) or trial.user_attrs[_SO_FAR])
