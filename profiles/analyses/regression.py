"""Why one model costs more than another: the modules that changed, and what restoring each would save.

Modules are matched by path, then by class and shapes (`profiles.analyses.matching`); each contributes what it does
itself (`profiles.analyses.contributions`). A module was *changed* where its class or its settings differ, or where it
stands in one of the models only; that others get other shapes to work on is a consequence. Where all that costs
something in a parent changed or follows from it, the parent as a whole is named.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profiles.analyses.contributions import METRICS, Contribution, contributions, own_values
from profiles.analyses.matching import Match, match_modules
from profiles.errors import InputError
from profiles.records import ComponentProfile

__all__ = ["ChangedModule", "Regression", "explain_regression"]

# A parent is named where so much of what it costs is in modules that changed.
CHANGED_SHARE = 0.9
Rows = Sequence[ComponentProfile]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedModule:
    """A changed module with all in it, and by metric how much more the model takes since; negative for less.

    `savings` is also what restoring it is predicted to save. It stands in both models unless a path is None.
    """

    before_path: str | None
    after_path: str | None
    savings: Mapping[str, float]

    @property
    def path(self) -> str:
        """Where it stands now, or where it stood."""
        return self.after_path if self.after_path is not None else self.before_path or ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Regression:
    """Totals of both models by metric, what every module contributes, and the changed modules, greatest first."""

    before: Mapping[str, float]
    after: Mapping[str, float]
    parts: Mapping[str, tuple[Contribution, ...]]
    changed: tuple[ChangedModule, ...]

    def explained_share(self, metric: str) -> float | None:
        """The changed modules' part of the difference; None where there is no difference."""
        difference = self.after[metric] - self.before[metric]
        return sum(module.savings[metric] for module in self.changed) / difference if difference else None


def explain_regression(before: Rows, after: Rows, metrics: Sequence[str] | None = None) -> Regression:
    """Explain the difference between two models' rows, by default in every metric that both models' rows have.

    `changed` is in the order of the greatest share of any metric's difference.

    Raises:
        InputError: a metric that one of the profiles does not have; both lack modules; an unknown metric.
    """
    if not (before and after):
        raise InputError("regression: both profiles must have rows")
    known = [name for name in METRICS if _has(before, name) and _has(after, name)]
    for name in metrics or ():
        if name in METRICS and name not in known:
            raise InputError(f"regression: {name} was not measured in both profiles")
    chosen = tuple(metrics or known)
    matches = match_modules(before, after)
    parts = {name: contributions(before, after, name, matches) for name in chosen}
    roots = _changed_roots(before, after, matches)
    changed = [_changed_module(root, parts) for root in roots]
    difference = {name: sum(part.change for part in of_metric) for name, of_metric in parts.items()}

    def weight(module: ChangedModule) -> float:
        shares = (abs(module.savings[name] / difference[name]) for name in chosen if difference[name])
        return max(shares, default=0.0)

    return Regression(
        before={name: sum(part.before for part in parts[name]) for name in chosen},
        after={name: sum(part.after for part in parts[name]) for name in chosen},
        parts=parts,
        changed=tuple(sorted(changed, key=weight, reverse=True)),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a changed module stands in either model."""

    before: str | None
    after: str | None


def _has(rows: Rows, metric: str) -> bool:
    return METRICS[metric].value(rows[0]) is not None


def _changed_roots(before: Rows, after: Rows, matches: Sequence[Match]) -> list[_Place]:
    """The outermost places of all that was changed, as far as nothing that stayed the same is in them."""
    forward = [match for match in matches if match.phase == "forward"] or list(matches)
    by_place = {_place_of(match): match for match in forward}
    outer_of = {place: _outer(place, by_place) for place in by_place}
    costs = _costs(before, after, forward)
    roots: dict[_Place, None] = {}
    for place, match in by_place.items():
        if _is_reconfigured(match):
            root, outer = place, outer_of[place]
            while outer is not None and _is_changed_as_a_whole(outer, by_place, outer_of, costs):
                root, outer = outer, outer_of[outer]
            roots[root] = None
    return [place for place in roots if not any(_is_inside(place, other) for other in roots)]


def _changed_module(root: _Place, parts: Mapping[str, Sequence[Contribution]]) -> ChangedModule:
    savings: dict[str, float] = defaultdict(float)
    for metric, of_metric in parts.items():
        for part in of_metric:
            savings[metric] += (
                part.change if _is_inside(_Place(part.before_path, part.after_path), root, or_equal=True) else 0.0
            )
    return ChangedModule(before_path=root.before, after_path=root.after, savings=dict(savings))


def _is_reconfigured(match: Match) -> bool:
    """Whether the module itself differs, and not only what it is given or what is in it."""
    if match.before is None or match.after is None:
        return True
    return _configuration(match.before) != _configuration(match.after)


def _configuration(row: ComponentProfile) -> tuple[object, ...]:
    try:
        settings = json.loads(row.spec).get("spec")
    except (ValueError, AttributeError):
        settings = row.spec
    return row.class_name, settings, row.dtype, row.parameter_bytes if row.kind == "leaf" else None


def _costs(before: Rows, after: Rows, matches: Sequence[Match]) -> dict[_Place, float]:
    """A module's own share of either model, the greater: of its FLOPs, its parameters and its time."""
    costs: dict[_Place, float] = defaultdict(float)
    for metric in ("flops", "parameter_bytes", "latency_ms"):
        for rows, is_after in ((before, False), (after, True)):
            own = own_values(rows, metric)
            total = sum(abs(value) for value in own.values())
            for match in matches if total else ():
                row = match.after if is_after else match.before
                if row is not None:
                    share = abs(own[row.path, row.phase]) / total
                    costs[_place_of(match)] = max(costs[_place_of(match)], share)
    return costs


def _is_changed_as_a_whole(
    place: _Place,
    by_place: Mapping[_Place, Match],
    outer_of: Mapping[_Place, _Place | None],
    costs: Mapping[_Place, float],
) -> bool:
    """Whether several of the modules in it changed, and nothing that costs much stayed; of the model nothing at all."""
    children = [child for child, outer in outer_of.items() if outer == place]
    if sum(by_place[child].is_changed for child in children) < 2:
        return False
    inside = [other for other in by_place if _is_inside(other, place)]
    total = sum(costs.get(other, 0.0) for other in inside)
    changed = sum(costs.get(other, 0.0) for other in inside if by_place[other].is_changed)
    is_model = place.after == "" or place.before == ""
    return changed >= (1.0 if is_model else CHANGED_SHARE) * total


def _place_of(match: Match) -> _Place:
    return _Place(match.before.path if match.before else None, match.after.path if match.after else None)


def _outer(place: _Place, by_place: Mapping[_Place, Match]) -> _Place | None:
    """The nearest place around it, in whichever model it stands."""
    around = [other for other in by_place if _is_inside(place, other)]
    return max(
        around, key=lambda other: len(other.after if other.after is not None else other.before or ""), default=None
    )


def _is_inside(inner: _Place, outer: _Place, *, or_equal: bool = False) -> bool:
    if inner == outer:
        return or_equal
    return _is_below(inner.after, outer.after) or _is_below(inner.before, outer.before)


def _is_below(path: str | None, outer: str | None) -> bool:
    if path is None or outer is None or path == outer:
        return False
    return not outer or path.startswith(f"{outer}.")
