"""What changed between two profiles: which modules, by how much, and what of it is only noise.

The differences are contributions (`profiles.analyses.contributions`): what each module does itself, outside those in
it, so that they sum to the difference of the models. A latency's difference is within the noise where it is less than
the two spreads (IQR) together, and what modules that did not change differ by.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from profiles.analyses.contributions import METRICS, Contribution, own_values
from profiles.analyses.matching import match_modules
from profiles.analyses.regression import ChangedModule, explain_regression
from profiles.errors import InputError
from profiles.model_profile import SELF_KIND, SELF_NAME, ModelProfile

__all__ = ["Difference", "MetricDiff", "ProfileDiff", "diff_profiles"]

_LATENCY = "latency_ms"
# Of fewer unchanged modules nothing can be said about the machine.
_LEAST_UNCHANGED = 5
_LEAST_DRIFT = 0.02
Place = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """What one module itself adds to the difference of the models, and how much of that chance alone explains."""

    part: Contribution
    class_name: str
    noise: float = 0.0

    @property
    def is_noise(self) -> bool:
        """Whether the change is within the noise."""
        return abs(self.part.change) <= self.noise


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricDiff:
    """One metric's difference: totals, and every module's part in it that is not zero, the greatest change first.

    `noise` is that of the totals.
    """

    name: str
    title: str
    before: float
    after: float
    differences: tuple[Difference, ...]
    noise: float = 0.0

    @property
    def is_noise(self) -> bool:
        """Whether the change of the total is within the noise."""
        return abs(self.change) <= self.noise

    @property
    def change(self) -> float:
        """How much more it is after."""
        return self.after - self.before

    @property
    def change_share(self) -> float | None:
        """The change over what it was before; None where that is zero."""
        return self.change / self.before if self.before else None

    @property
    def named(self) -> tuple[Difference, ...]:
        """The differences that are more than noise."""
        return tuple(one for one in self.differences if not one.is_noise)

    @property
    def noise_change(self) -> float:
        """What the differences within the noise sum to."""
        return sum(one.part.change for one in self.differences if one.is_noise)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileDiff:
    """Two profiles' differences by metric; `changed` are the modules that were made otherwise, greatest effect first.

    `notes` are what makes the two hard to compare, and which metrics were not measured in both.
    """

    before_name: str
    after_name: str
    metrics: tuple[MetricDiff, ...]
    changed: tuple[ChangedModule, ...]
    notes: tuple[str, ...] = ()

    def metric(self, name: str) -> MetricDiff:
        """The metric of that name; an `InputError` where it was not measured in both."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise InputError(f"diff: {name} was not measured in both profiles")

    def to_object(self) -> dict[str, Any]:
        """JSON-ready: totals, changed modules, and every module's part."""
        return {
            "before": self.before_name,
            "after": self.after_name,
            "changed": [
                {"path": one.path, "before_path": one.before_path, "after_path": one.after_path, **one.savings}
                for one in self.changed
            ],
            "metrics": {metric.name: _metric_object(metric) for metric in self.metrics},
            "notes": list(self.notes),
        }


def diff_profiles(before: ModelProfile, after: ModelProfile) -> ProfileDiff:
    """Compare two profiles in every metric that both have.

    Raises:
        InputError: nothing was measured in both.
    """
    regression = explain_regression(before.rows, after.rows)
    if not regression.parts:
        raise InputError("diff: no metric was measured in both profiles")
    drift = _drift(before, after)
    noise = _latency_noise(before, after, drift)
    classes = _classes(before) | _classes(after)
    metrics = tuple(
        MetricDiff(
            name=name,
            title=METRICS[name].title,
            before=regression.before[name],
            after=regression.after[name],
            differences=tuple(
                Difference(
                    part=part,
                    class_name=classes.get((part.path, part.phase), ""),
                    noise=noise(part) if name == _LATENCY else 0.0,
                )
                for part in parts
                if part.change
            ),
            noise=_total_noise(before, after, drift) if name == _LATENCY else 0.0,
        )
        for name, parts in regression.parts.items()
    )
    return ProfileDiff(
        before_name=_name(before),
        after_name=_name(after),
        metrics=metrics,
        changed=regression.changed,
        notes=tuple(_notes(before, after, drift, [metric.name for metric in metrics])),
    )


def _latency_noise(before: ModelProfile, after: ModelProfile, drift: float | None) -> Callable[[Contribution], float]:
    """A module's noise: both spreads of its own time, and what the whole machine differed by."""
    old, new = _own_spreads(before), _own_spreads(after)

    def noise(part: Contribution) -> float:
        before_ms = old.get((part.before_path or "", part.phase), 0.0) if part.before_path is not None else 0.0
        after_ms = new.get((part.after_path or "", part.phase), 0.0) if part.after_path is not None else 0.0
        return math.hypot(before_ms, after_ms) + abs((drift or 1.0) - 1.0) * abs(part.before)

    return noise


def _total_noise(before: ModelProfile, after: ModelProfile, drift: float | None) -> float:
    old, new = before.rows[0].in_situ, after.rows[0].in_situ
    if old is None or new is None:
        return 0.0
    return math.hypot(old.iqr_ms, new.iqr_ms) + abs((drift or 1.0) - 1.0) * old.median_ms


def _own_spreads(profile: ModelProfile) -> dict[Place, float]:
    """The IQR in the model of what each module does itself.

    Where that is its median less those in it, a difference of medians, it is off by as much as it differs from the
    median that was measured of it, which its `(self)` row has.
    """
    own = own_values(profile.rows, _LATENCY)
    spreads: dict[Place, float] = {}
    for row in profile.rows:
        if row.in_situ is None:
            continue
        if row.kind == SELF_KIND:
            place = row.path.removesuffix(SELF_NAME).removesuffix("."), row.phase
            spreads[place] = math.hypot(row.in_situ.iqr_ms, own.get(place, 0.0) - row.in_situ.median_ms)
        else:
            spreads.setdefault((row.path, row.phase), row.in_situ.iqr_ms)
    return spreads


def _drift(before: ModelProfile, after: ModelProfile) -> float | None:
    """How many times as long unchanged innermost modules take after, in the median; None of too few."""
    ratios = [
        match.after.in_situ.median_ms / match.before.in_situ.median_ms
        for match in match_modules(before.rows, after.rows)
        if not match.is_changed and match.before and match.after and match.after.kind == "leaf"
        if match.before.in_situ and match.after.in_situ and match.before.in_situ.median_ms > 0
    ]
    return median(ratios) if len(ratios) >= _LEAST_UNCHANGED else None


def _notes(before: ModelProfile, after: ModelProfile, drift: float | None, compared: list[str]) -> Iterator[str]:
    old, new = before.rows[0], after.rows[0]
    for what, first, second in (
        ("device", old.device, new.device),
        ("processor", old.fingerprint.processor, new.fingerprint.processor),
        ("threads", old.fingerprint.threads, new.fingerprint.threads),
        ("batch", old.batch, new.batch),
        ("dtype", old.dtype, new.dtype),
        ("preprocessors", "+".join(old.preprocessors) or "none", "+".join(new.preprocessors) or "none"),
    ):
        if first != second:
            yield f"{what}: {first} before, {second} after"
    if drift is not None and abs(drift - 1) >= _LEAST_DRIFT and _LATENCY in compared:
        yield f"unchanged modules take {drift:.2f} times as long after: as much of every difference is within the noise"
    for name, metric in METRICS.items():
        if name not in compared:
            hint = " (profile both with the profiler memory)" if name == "memory_bytes" else ""
            yield f"not compared, since not measured in both: {metric.title}{hint}"


def _classes(profile: ModelProfile) -> dict[Place, str]:
    return {(row.path, row.phase): row.class_name for row in profile.rows if row.kind != SELF_KIND}


def _name(profile: ModelProfile) -> str:
    return profile.name or profile.rows[0].class_name


def _metric_object(metric: MetricDiff) -> dict[str, Any]:
    return {
        "before": metric.before,
        "after": metric.after,
        "change": metric.change,
        "noise": metric.noise,
        "is_noise": metric.is_noise,
        "named": [one.part.path for one in metric.named],
        "noise_change": metric.noise_change,
        "parts": [
            {
                "path": one.part.path,
                "before_path": one.part.before_path,
                "after_path": one.part.after_path,
                "phase": one.part.phase,
                "class_name": one.class_name,
                "before": one.part.before,
                "after": one.part.after,
                "change": one.part.change,
                "noise": one.noise,
                "is_noise": one.is_noise,
            }
            for one in metric.differences
        ],
    }
