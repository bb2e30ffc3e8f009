"""How far a search is."""

from dataclasses import dataclass

from planner.search.objective import format_cost
from planner.search.records import SearchResult, TrialRecord

__all__ = ["SearchProgress"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchProgress:
    """Told after every finished trial; `latest` is that trial, `best` the best one by the first objective."""

    finished: int
    wanted: int
    infeasible: int
    failed: int
    latest: TrialRecord
    best: TrialRecord | None
    note: str

    @classmethod
    def of(cls, result: SearchResult, wanted: int, latest: TrialRecord) -> "SearchProgress":
        """The progress that `result` stands for."""
        return cls(
            finished=len(result.trials),
            wanted=wanted,
            infeasible=result.count("infeasible"),
            failed=result.count("failed"),
            latest=latest,
            best=result.best,
            note=_note(result),
        )


def _note(result: SearchResult) -> str:
    """A few words: the best trial, and what did not train."""
    words = []
    if (best := result.best) is not None:
        objective = result.objectives[0]
        words.append(f"best {objective} {format_cost(result.values(best)[objective])} ({best.model.name})")
    words += [f"{count} {state}" for state in ("infeasible", "failed") if (count := result.count(state))]
    return ", ".join(words)
