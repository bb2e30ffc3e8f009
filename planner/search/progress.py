"""How far a search is."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from planner.search.objective import format_cost
from planner.search.records import SearchResult, TrialRecord
from profiles.units import SECONDS_PER_HOUR

__all__ = ["SearchProgress"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchProgress:
    """Told after every score; `latest` is that trial, `best` the best one by the first objective, `front` all members.

    `seconds_left` is what the trainings still to come are expected to take, None before the first; `ruled_out` counts
    the trials that broke each limit.
    """

    finished: int
    wanted: int
    infeasible: int
    failed: int
    latest: TrialRecord
    best: TrialRecord | None
    front: tuple[TrialRecord, ...]
    seconds_left: float | None
    ruled_out: Mapping[str, int]
    note: str

    @classmethod
    def of(
        cls, result: SearchResult, wanted: int, latest: TrialRecord, finished: float | None = None, also: str = ""
    ) -> "SearchProgress":
        """The progress that `result` stands for; `finished` is given where trials count by their parts.

        `also` is added to the note in place of the time left.
        """
        ended = len(result.trials) if finished is None else finished
        seconds_left, ruled_out = _seconds_left(result, wanted, ended), _ruled_out(result)
        return cls(
            finished=int(ended),
            wanted=wanted,
            infeasible=result.count("infeasible"),
            failed=result.count("failed"),
            latest=latest,
            best=result.best,
            front=result.pareto,
            seconds_left=seconds_left,
            ruled_out=ruled_out,
            note=_note(result, None if also else seconds_left, ruled_out, also),
        )


def _seconds_left(result: SearchResult, wanted: int, ended: float) -> float | None:
    """By the mean of the time so far."""
    spent_s = sum(trial.train_seconds or 0.0 for trial in result.trials)
    return spent_s / ended * max(wanted - ended, 0.0) if ended > 0 and spent_s > 0 else None


def _ruled_out(result: SearchResult) -> dict[str, int]:
    """How many trials broke each limit, by the words of their reasons."""
    broken = [part.split()[0] for one in result.trials if one.state == "infeasible" for part in one.reason.split(", ")]
    return dict(Counter(broken))


def _note(result: SearchResult, seconds_left: float | None, ruled_out: Mapping[str, int], also: str) -> str:
    """A few words: the best trial, the front, what did not train and why, and the time left."""
    words = []
    if (best := result.best) is not None:
        objective = result.objectives[0]
        words.append(f"best {objective} {format_cost(result.values(best)[objective])} ({best.model.name})")
        words.append(f"front of {len(result.pareto)}")
    if count := result.count("infeasible"):
        words.append(f"{count} infeasible ({', '.join(ruled_out)})")
    if count := result.count("failed"):
        words.append(f"{count} failed")
    if seconds_left is not None:
        words.append(f"{_duration(seconds_left)} left")
    return ", ".join((*words, also) if also else words)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / SECONDS_PER_HOUR:.1f} h"
