"""Why each member of the front is on it, and what moving on to the next one gives up."""

from collections.abc import Sequence
from dataclasses import dataclass

from planner.search.noise import SeedNoise, seed_noise
from planner.search.objective import METRICS, format_cost
from planner.search.records import SearchResult, TrialRecord
from planner.study import OBJECTIVES

__all__ = ["FrontReason", "front_reasons"]

_NAMES = {
    "auc": "AUC",
    "capacity_qps": "capacity",
    "cost_per_million": "cost per million samples",
    "energy_j": "energy",
    "flops": "FLOPs",
    "latency_ms": "latency",
    "latency_p50_ms": "p50 latency",
    "latency_p99_ms": "p99 latency",
    "log_loss": "log loss",
    "parameter_bytes": "parameter bytes",
    "peak_memory_bytes": "peak memory",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontReason:
    """A member: `why` no other trial beats it, the number of the `following` member, and the trade between the two.

    `within_noise` says that the two differ in the first measure of accuracy by no more than chance; None where no
    member was trained from several seeds, or where none of the objectives is such a measure.
    """

    number: int
    name: str
    why: str
    following: int | None
    trade: str
    within_noise: bool | None


def front_reasons(result: SearchResult) -> tuple[FrontReason, ...]:
    """One for each member of the front, the best by the first objective first."""
    front = result.pareto
    metric = next((name for name in result.objectives if name in METRICS), None)
    noise = seed_noise(result, metric) if metric else None
    following = (*front[1:], None)
    return tuple(_reason(result, front, one, after, noise) for one, after in zip(front, following, strict=True))


def _reason(
    result: SearchResult,
    front: Sequence[TrialRecord],
    member: TrialRecord,
    after: TrialRecord | None,
    noise: SeedNoise | None,
) -> FrontReason:
    return FrontReason(
        number=member.number,
        name=member.model.name,
        why=_why(result, front, member),
        following=after.number if after else None,
        trade=_trade(result, member, after) if after else "",
        within_noise=not noise.tells_apart(member, after) if noise and after else None,
    )


def _why(result: SearchResult, front: Sequence[TrialRecord], member: TrialRecord) -> str:
    """The objectives that it is best in, else what every better one by the first objective costs more of."""
    values = result.values(member)
    best = [
        name for name in result.objectives if values[name] == _best(name, [result.values(one)[name] for one in front])
    ]
    if best:
        return f"best {_listed([_NAMES.get(name, name) for name in best])} of all"
    first = result.objectives[0]
    better = [one for one in front if _is_better(first, result.values(one)[first], values[first])]
    cheaper = [
        _NAMES.get(name, name)
        for name in result.objectives[1:]
        if all(_is_better(name, values[name], result.values(one)[name]) for one in better)
    ]
    title = _NAMES.get(first, first)
    if cheaper:
        return f"best {title} at this {_listed(cheaper)} or less"
    return f"every member of higher standing in {title} is worse in another objective"


def _trade(result: SearchResult, member: TrialRecord, after: TrialRecord) -> str:
    """What the next member gives up and gains, in words."""
    here, there = result.values(member), result.values(after)
    changes = {name: _change(name, here[name], there[name]) for name in result.objectives if here[name] != there[name]}
    lost = [text for name, text in changes.items() if _is_better(name, here[name], there[name])]
    gained = [text for name, text in changes.items() if _is_better(name, there[name], here[name])]
    return f"{after.model.name}: {', '.join(lost) or 'nothing lost'}; for {', '.join(gained) or 'nothing'}"


def _change(name: str, here: float, there: float) -> str:
    title = _NAMES.get(name, name)
    if name in METRICS:
        return f"{title} {there - here:+.4f}"
    share = f" ({100 * (there / here - 1):+.0f} %)" if here else ""
    return f"{title} {format_cost(here)} to {format_cost(there)}{share}"


def _best(name: str, values: Sequence[float]) -> float:
    return max(values) if OBJECTIVES[name] else min(values)


def _is_better(name: str, one: float, other: float) -> bool:
    return one > other if OBJECTIVES[name] else one < other


def _listed(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
