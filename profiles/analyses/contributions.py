"""What each module itself contributes to a model's total, and to the difference between two models' totals.

A module's own value is its row's less those of the modules in it. Over all modules these add up to the model's value
exactly, whatever the rows hold: no parent is counted twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from profiles.analyses.matching import Match, match_modules
from profiles.errors import InputError, UnknownNameError
from profiles.model_profile import SELF_KIND
from profiles.records import ComponentProfile

__all__ = ["METRICS", "Contribution", "Metric", "contributions", "explain", "metric_of", "own_values"]

Rows = Sequence[ComponentProfile]
# Path and phase.
Place = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A figure of a row that adds up over a model's modules."""

    name: str
    title: str
    value: Callable[[ComponentProfile], float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Contribution:
    """What a module itself, outside the modules in it, adds to a total before and after.

    The paths are None where the module is not there.
    """

    metric: str
    phase: str
    before_path: str | None
    after_path: str | None
    before: float
    after: float

    @property
    def path(self) -> str:
        """Where the module stands now, or where it stood."""
        return self.after_path if self.after_path is not None else self.before_path or ""

    @property
    def change(self) -> float:
        """How much more it is after."""
        return self.after - self.before


def _latency_ms(row: ComponentProfile) -> float | None:
    return row.in_situ.median_ms if row.in_situ else None


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(name="latency_ms", title="Latency in the model (ms)", value=_latency_ms),
        Metric(name="flops", title="FLOPs", value=lambda row: row.flops),
        Metric(name="parameter_bytes", title="Parameters and buffers (bytes)", value=lambda row: row.parameter_bytes),
        Metric(
            name="memory_bytes",
            title="Memory at the model's peak (bytes)",
            value=lambda row: row.figures.get("memory_at_peak_bytes"),
        ),
    )
}


def metric_of(name: str) -> Metric:
    """The metric of that name, or an `UnknownNameError` that lists the known ones."""
    try:
        return METRICS[name]
    except KeyError:
        raise UnknownNameError("metric", name, METRICS) from None


def own_values(rows: Rows, metric: str) -> dict[Place, float]:
    """What each module itself comes to, by path and phase; the values of a phase add up to the model's row.

    A module's own value is negative where the modules in it come to more than it does, as tied parameters do. A row
    without a value has that of the modules in it.
    """
    modules = {(row.path, row.phase): row for row in rows if row.kind != SELF_KIND}
    children: dict[Place, list[Place]] = {place: [] for place in modules}
    for path, phase in modules:
        if (parent := _parent(path, phase, modules)) is not None:
            children[parent].append((path, phase))
    inclusive: dict[Place, float] = {}
    own: dict[Place, float] = {}
    value_of = metric_of(metric).value
    # Deepest first, so that what a module holds is known before it.
    for place in sorted(modules, key=lambda place: -_level(place[0])):
        inside = sum(inclusive[child] for child in children[place])
        value = value_of(modules[place])
        inclusive[place] = inside if value is None else float(value)
        own[place] = inclusive[place] - inside
    return {place: own[place] for place in modules}


def contributions(
    before: Rows, after: Rows, metric: str, matches: Sequence[Match] | None = None
) -> tuple[Contribution, ...]:
    """Every module's contribution, the greatest change first; the changes sum to the difference of the totals.

    `matches` saves matching anew for each metric.
    """
    old, new = own_values(before, metric), own_values(after, metric)
    found = [_contribution(match, metric, old, new) for match in matches or match_modules(before, after)]
    return tuple(sorted(found, key=lambda part: -abs(part.change)))


def explain(parts: Sequence[Contribution], share: float = 0.95) -> tuple[Contribution, ...]:
    """The fewest of the greatest contributions whose changes come to `share` of all that changed, up or down.

    Raises:
        InputError: the share is not in (0, 1].
    """
    if not 0 < share <= 1:
        raise InputError(f"explain: share must be in (0, 1], but got {share}")
    ranked = sorted(parts, key=lambda part: -abs(part.change))
    wanted = share * sum(abs(part.change) for part in ranked)
    chosen: list[Contribution] = []
    explained = 0.0
    for part in ranked:
        if explained >= wanted or not part.change:
            break
        chosen.append(part)
        explained += abs(part.change)
    return tuple(chosen)


def _contribution(match: Match, metric: str, old: Mapping[Place, float], new: Mapping[Place, float]) -> Contribution:
    before, after = match.before, match.after
    return Contribution(
        metric=metric,
        phase=match.phase,
        before_path=before.path if before else None,
        after_path=after.path if after else None,
        before=old[before.path, before.phase] if before else 0.0,
        after=new[after.path, after.phase] if after else 0.0,
    )


def _parent(path: str, phase: str, modules: Mapping[Place, ComponentProfile]) -> Place | None:
    """The nearest module around it that has a row."""
    while path:
        path = path.rpartition(".")[0]
        if (path, phase) in modules:
            return path, phase
    return None


def _level(path: str) -> int:
    return path.count(".") + 1 if path else 0
