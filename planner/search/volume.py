"""How the covered hypervolume grew while a search trained."""

from typing import Any

import polars as pl

from planner.search.hypervolume import normalised_hypervolume
from planner.search.records import SearchResult, TrialRecord

__all__ = ["volume_frame"]

_SCHEMA: dict[str, Any] = {
    "step": pl.Int64,
    "number": pl.Int64,
    "name": pl.String,
    "state": pl.String,
    "seconds": pl.Float64,
    "hypervolume": pl.Float64,
}


def volume_frame(result: SearchResult) -> pl.DataFrame:
    """A row per score, in the order in which they came: seconds of training so far, and the share covered by then.

    Scores on the way of a training take time and cover nothing; trials that were not trained are left out.
    """
    events = sorted((event for trial in result.trials for event in _events(trial)), key=lambda event: event[0])
    rows, seconds, covered = [], 0.0, 0.0
    ended: list[dict[str, float]] = []
    for step, (_, trial, spent_s, is_end) in enumerate(events, 1):
        seconds += spent_s
        if is_end and trial.state == "complete":
            ended.append(result.values(trial))
            covered = normalised_hypervolume(ended, result.reference)
        rows.append(
            {
                "step": step,
                "number": trial.number,
                "name": trial.model.name,
                "state": trial.state,
                "seconds": seconds,
                "hypervolume": covered,
            }
        )
    return pl.DataFrame(rows, schema=_SCHEMA)


def _events(trial: TrialRecord) -> list[tuple[tuple[int, int], TrialRecord, float, bool]]:
    """Order, trial, seconds of training, and whether that was the end of it."""
    if not trial.rungs:
        return [((-1, trial.number), trial, trial.train_seconds, True)] if trial.train_seconds is not None else []
    last = trial.rungs[-1]
    return [((rung.order, trial.number), trial, rung.seconds, rung is last) for rung in trial.rungs]
