"""From profile rows to what a device model is fitted on: components, labels, scatter, and what was left out.

The label is the 25th percentile of the warm latency, of the two fastest visits where the sweep waited for these to
agree: on a shared machine slower samples and visits tell of the neighbours, the lower quartile of the component.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from statistics import median

import numpy as np

from planner.cost_model.estimates import Floats
from planner.cost_model.roofline import PhysicalLimits
from profiles.agreement import VISITS_APART
from profiles.component import Component, make_component
from profiles.errors import InputError
from profiles.records import ComponentProfile, Fingerprint, Latency

__all__ = [
    "IDLED_MODEL",
    "SERVED_MODEL",
    "WHOLE_MODEL",
    "WHOLE_MODELS",
    "TrainingRows",
    "component_of",
    "contention_notes",
    "is_contended",
    "limits_of",
    "training_rows",
]

WHOLE_MODEL = "model"
# Timed as it would be served, call after call, whatever the core: tells of the machine, not of components.
SERVED_MODEL = "served_model"
# The same with a pause before every call, as between the queries of a light load.
IDLED_MODEL = "idled_model"
WHOLE_MODELS = (WHOLE_MODEL, SERVED_MODEL, IDLED_MODEL)
_CONTRADICTION = 1.1
_DISAGREEMENT = 0.05
_CONTENTION = 1.05
# Beyond any core's vector units and caches, and beyond any accelerator: what exceeds these was mismeasured.
_CORE_LIMITS = PhysicalLimits(flops_per_s=2e12, bytes_per_s=2e12)
_DEVICE_LIMITS = PhysicalLimits(
    flops_per_s=1e16, bytes_per_s=1e14, cache_bytes=(256 * 2.0**10, 50 * 2.0**20, 256 * 2.0**20)
)
_NOT_COMPARED = ("git_revision", "timestamp")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrainingRows:
    """Distinct measured components in a canonical order; arrays of shape [N].

    `relative_iqr` is the interquartile range of single calls over their median, `doubt` how far apart the visits behind
    a label are, or the labels of several rows, as a fraction; 0 where the rows do not say.
    """

    components: tuple[Component, ...]
    label_ms: Floats
    relative_iqr: Floats
    doubt: Floats
    fingerprint: Fingerprint
    notes: tuple[str, ...]

    def take(self, rows: Sequence[int]) -> "TrainingRows":
        """Some of the rows; the notes stay those on all."""
        at = np.array(rows, dtype=np.int64)
        return replace(
            self,
            components=tuple(self.components[i] for i in rows),
            label_ms=self.label_ms[at],
            relative_iqr=self.relative_iqr[at],
            doubt=self.doubt[at],
        )


def component_of(profile: ComponentProfile) -> Component:
    """The component that a profile's spec describes, at the profile's batch.

    Raises:
        InputError: the spec is not that of a component (a module's row of a hierarchical profile, for example).
    """
    try:
        body = json.loads(profile.spec)
        kind, dtype, phase = body.pop("kind"), body.pop("dtype"), body.pop("pass")
        return make_component(kind, profile.batch, body, dtype=dtype, phase=phase)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"profile{_path(profile)}: its spec describes no component: {profile.spec!r}") from error


def training_rows(profiles: Iterable[ComponentProfile]) -> TrainingRows:
    """The measured warm latencies among the profiles, one row per component; whole models are left out.

    Raises:
        InputError: no row is left, a latency is not positive and finite, or the rows come from several set-ups.
    """
    measured = [p for p in profiles if p.provenance == "measured" and p.warm is not None and p.kind not in WHOLE_MODELS]
    if not measured:
        raise InputError("cost model: there is no measured component with a warm latency to fit on")
    _require_one_setup(measured)
    grouped: dict[Component, list[Latency]] = {}
    doubts: dict[Component, list[float]] = {}
    for profile in measured:
        component = component_of(profile)
        grouped.setdefault(component, []).append(_checked(profile))
        doubts.setdefault(component, []).append(profile.figures.get(VISITS_APART) or 0.0)
    order = sorted(grouped, key=lambda component: (component.spec(), component.batch))
    return TrainingRows(
        components=tuple(order),
        label_ms=np.array([median([one.p25_ms for one in grouped[c]]) for c in order]),
        relative_iqr=np.array([median([one.iqr_ms / one.median_ms for one in grouped[c]]) for c in order]),
        doubt=np.array([max(median(doubts[c]), _ratio(grouped[c]) - 1) for c in order]),
        fingerprint=measured[0].fingerprint,
        notes=(
            *_contradictions(grouped, order),
            *_disagreements([doubt for own in doubts.values() for doubt in own]),
            *contention_notes("rows", [p.warm for p in measured if p.warm is not None]),
        ),
    )


def limits_of(fingerprint: Fingerprint) -> PhysicalLimits:
    """Generous ceilings of the device that the rows were measured on."""
    if "cpu" not in fingerprint.device:
        return _DEVICE_LIMITS
    threads = max(1, fingerprint.threads)
    return PhysicalLimits(
        flops_per_s=threads * _CORE_LIMITS.flops_per_s, bytes_per_s=threads * _CORE_LIMITS.bytes_per_s
    )


def is_contended(latency: Latency) -> bool:
    """Whether other work held the processor for a share of the measurement."""
    return latency.wall_over_cpu is not None and latency.wall_over_cpu > _CONTENTION


def contention_notes(what: str, latencies: Sequence[Latency]) -> list[str]:
    """A note on how many of the latencies were measured while other work held the processor, where there are any."""
    contended = sum(map(is_contended, latencies))
    if not contended:
        return []
    return [f"{contended} of {len(latencies)} {what} were measured while other work held the processor"]


def _disagreements(doubts: Sequence[float]) -> list[str]:
    unsettled = sum(doubt > _DISAGREEMENT for doubt in doubts)
    if not unsettled:
        return []
    far = f"more than {100 * _DISAGREEMENT:.0f} % apart (up to {100 * max(doubts):.0f} %)"
    return [f"{unsettled} of {len(doubts)} rows rest on visits {far}, and count for less"]


def _checked(profile: ComponentProfile) -> Latency:
    latency = profile.warm
    values = (latency.p25_ms, latency.median_ms) if latency else ()
    if latency is None or not all(math.isfinite(value) and value > 0 for value in values):
        where = f"profile{_path(profile)} of {profile.spec} at batch {profile.batch}"
        raise InputError(f"{where}: warm latency must be finite and > 0, but got {values}")
    return latency


def _path(profile: ComponentProfile) -> str:
    return f" {profile.path!r}" if profile.path else ""


def _require_one_setup(profiles: Sequence[ComponentProfile]) -> None:
    first = profiles[0].fingerprint
    for profile in profiles:
        if profile.fingerprint.device_key() == first.device_key():
            continue
        differing = [
            f"{f.name} {getattr(profile.fingerprint, f.name)!r} against {getattr(first, f.name)!r}"
            for f in fields(Fingerprint)
            if f.name not in _NOT_COMPARED and getattr(profile.fingerprint, f.name) != getattr(first, f.name)
        ]
        raise InputError(f"cost model: rows of different set-ups cannot be mixed: {'; '.join(differing)}")


def _contradictions(grouped: dict[Component, list[Latency]], order: Sequence[Component]) -> list[str]:
    spreads = [_ratio(grouped[c]) for c in order]
    doubtful = [c for c, spread in zip(order, spreads, strict=True) if spread > _CONTRADICTION]
    if not doubtful:
        return []
    apart = f"labels more than 10 % apart (up to a factor of {max(spreads):.2f})"
    return [f"{len(doubtful)} components were measured more than once with {apart}; their median counts for less"]


def _ratio(latencies: Sequence[Latency]) -> float:
    """How far apart the labels of one component's rows are."""
    return max(one.p25_ms for one in latencies) / min(one.p25_ms for one in latencies)
