"""What changed between two reports: their headline figures, their candidates, and the profiled model's modules."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planner.report.facts import Facts, best_policy, serving_facts
from planner.report.inputs import ReportInputs
from profiles.analyses.diff import ProfileDiff, diff_profiles
from profiles.errors import InputError
from profiles.model_profile import ModelProfile
from profiles.results.difference_lines import difference_lines, format_amount, format_change

__all__ = ["FigureDiff", "ReportDiff", "diff_reports", "report_difference_lines"]

_OF_CANDIDATES = ("latency_ms", "flops", "parameter_bytes", "auc", "accuracy", "log_loss")
# Quality is trained anew and latencies come from another cost model: what differs by less says nothing.
_SAME = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureDiff:
    """One figure of one thing (`subject`: a candidate, or empty for the report); None where that report lacks it."""

    subject: str
    name: str
    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        """How much more it is after, where both have it."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def is_same(self) -> bool:
        """Whether nothing changed."""
        if self.before is None or self.after is None:
            return self.before is self.after
        return math.isclose(self.before, self.after, rel_tol=_SAME)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportDiff:
    """`headline` and `candidates` hold what differs; `components` the modules, where both reports profiled a model.

    `notes` are what makes the two hard to compare, and what only one of them has.
    """

    before_name: str
    after_name: str
    headline: tuple[FigureDiff, ...]
    candidates: tuple[FigureDiff, ...]
    components: ProfileDiff | None
    notes: tuple[str, ...]

    def to_object(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "before": self.before_name,
            "after": self.after_name,
            "headline": [_object(one) for one in self.headline],
            "candidates": [_object(one) for one in self.candidates],
            "components": self.components.to_object() if self.components else None,
            "notes": list(self.notes),
        }


def diff_reports(before: ReportInputs, after: ReportInputs, names: tuple[str, str] | None = None) -> ReportDiff:
    """Compare two reports in all that both hold; `names` are how to call them, their own by default.

    Raises:
        InputError: they have nothing in common: no serving, no candidate and no profiled module.
    """
    old, new = _candidates(before), _candidates(after)
    components = _components(before, after)
    headline = _figures("", _headline(before), _headline(after))
    shared = [name for name in old if name in new]
    if not (shared or components or any(one.change is not None for one in headline)):
        raise InputError(
            f"diff: the reports {before.name!r} and {after.name!r} cannot be compared: they share no candidate, "
            f"and not both of them have served a plan or profiled a model"
        )
    named = names or (before.name, after.name)
    return ReportDiff(
        before_name=named[0],
        after_name=named[1],
        headline=tuple(one for one in headline if not one.is_same),
        candidates=tuple(one for name in shared for one in _figures(name, old[name], new[name]) if not one.is_same),
        components=components,
        notes=tuple(_notes(before, after, old, new)),
    )


def report_difference_lines(diff: ReportDiff, most: int = 12) -> list[str]:
    """The headline figures, up to `most` candidates of each figure, the greatest relative change first, the modules."""
    lines = [f"{diff.before_name} → {diff.after_name}", "", "headline" if diff.headline else "headline: no change"]
    lines += [f"  {_text(one)}" for one in diff.headline]
    for name in _OF_CANDIDATES:
        changed = sorted((one for one in diff.candidates if one.name == name), key=_relative, reverse=True)
        if changed:
            lines += ["", f"{name} of {len(changed)} candidates"]
            lines += [f"  {one.subject}: {_text(one)}" for one in changed[:most]]
            lines += [f"  ... {len(changed) - most} more"] if len(changed) > most else []
    if not diff.candidates:
        lines += ["", "candidates: no change"]
    if diff.components:
        lines += ["", "modules of the profiled model:", *difference_lines(diff.components, most)]
    return [*lines, *([""] if diff.notes else []), *(f"note: {note}" for note in diff.notes)]


def _headline(report: ReportInputs) -> Mapping[str, float | None]:
    """The figures of what the report advises to serve, and of the search."""
    found: dict[str, float | None] = {"hypervolume": report.search.hypervolume if report.search else None}
    facts = _facts(report)
    best = best_policy(facts.policies) if facts else None
    if facts and best:
        found |= {
            "latency_ms": None if best.overloaded else best.tail_ms,
            "sla_violation_share": best.violation_share,
            "accuracy": best.accuracy,
            "correct_predictions_in_sla_per_s": best.correct_in_sla_per_s,
            "max_qps": best.max_qps,
            "cost_per_million_predictions": facts.cost_per_million(best),
            "parameter_bytes": _path_bytes(report, {path.name for path in best.paths}),
        }
    return found


def _facts(report: ReportInputs) -> Facts | None:
    return serving_facts(report.plan, report.serving) if report.plan and report.serving else None


def _path_bytes(report: ReportInputs, used: set[str]) -> float | None:
    sizes = [path.get("parameter_bytes") for path in (report.plan or {}).get("paths", ()) if path["name"] in used]
    return float(sum(size or 0 for size in sizes)) if sizes else None


def _candidates(report: ReportInputs) -> dict[str, Mapping[str, float | None]]:
    trials = report.search.trials if report.search else ()
    return {str(row["name"]): {name: _number(row.get(name)) for name in _OF_CANDIDATES} for row in trials}


def _components(before: ReportInputs, after: ReportInputs) -> ProfileDiff | None:
    if not before.profile or not after.profile:
        return None
    old, new = (
        ModelProfile(rows=report.profile or (), profile_seconds=0.0, name=report.name) for report in (before, after)
    )
    try:
        return diff_profiles(old, new)
    except InputError:
        return None


def _figures(
    subject: str, before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> tuple[FigureDiff, ...]:
    return tuple(
        FigureDiff(subject=subject, name=name, before=before.get(name), after=after.get(name))
        for name in dict.fromkeys((*before, *after))
    )


def _notes(
    before: ReportInputs, after: ReportInputs, old: Mapping[str, object], new: Mapping[str, object]
) -> Iterator[str]:
    for name in sorted(before.study.keys() | after.study.keys()):
        if before.study.get(name) != after.study.get(name):
            yield f"the studies differ in {name}"
    for what in ("device", "processor", "threads"):
        first, second = getattr(before.fingerprint, what), getattr(after.fingerprint, what)
        if first != second:
            yield f"{what}: {first} before, {second} after"
    for left, words in ((old.keys() - new.keys(), "before"), (new.keys() - old.keys(), "after")):
        if left:
            yield f"{len(left)} candidates are only in the report {words}: {', '.join(sorted(left)[:5])}"
    for part in ("serving", "search", "profile"):
        has_part = bool(getattr(before, part)), bool(getattr(after, part))
        if any(has_part) and not all(has_part):
            yield f"{part}: only in the report {'before' if has_part[0] else 'after'}"


def _text(one: FigureDiff) -> str:
    before, after = (_amount(one.name, value) for value in (one.before, one.after))
    if one.change is None:
        return f"{one.name} {before} → {after}"
    change = format_change(one.name, one.change) if _has_unit(one.name) else f"{one.change:+.4g}"
    share = f" ({100 * one.change / one.before:+.1f} %)" if one.before else ""
    return f"{one.name} {before} → {after}, {change}{share}"


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return "not known"
    return format_amount(name, value) if _has_unit(name) else f"{value:.6g}"


def _has_unit(name: str) -> bool:
    return name.endswith(("_ms", "_bytes")) or name == "flops"


def _relative(one: FigureDiff) -> float:
    return math.inf if not one.change or not one.before else abs(one.change / one.before)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _object(one: FigureDiff) -> dict[str, Any]:
    return {"subject": one.subject, "name": one.name, "before": one.before, "after": one.after, "change": one.change}
