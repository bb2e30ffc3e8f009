"""A `select` chosen feature by feature: by accuracy gained per byte and per microsecond, within budgets of both.

Gains are taken to add up. Greedy steps take the option that gains most for the share of the budgets that it takes;
an integer program beside them (`scipy`'s HiGHS) says what they leave.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.mapping.feature_gains import FeatureGain, with_embeddings
from profiles.errors import InputError, MeasurementError
from representations.specs import ModelSpec

__all__ = ["FeatureChoice", "choose_features"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureChoice:
    """The options taken, at most one per feature, in the order taken; `best_gain` is what no choice can pass."""

    taken: tuple[FeatureGain, ...]
    best_gain: float
    free_bytes: int
    free_us: float

    @property
    def gain(self) -> float:
        """What the options gain together, if their gains add up."""
        return math.fsum(one.accuracy_gain for one in self.taken)

    @property
    def gap(self) -> float:
        """The share of the best possible gain that the steps leave."""
        return max(0.0, 1 - self.gain / self.best_gain) if self.best_gain > 0 else 0.0

    def model(self, base: ModelSpec, name: str) -> ModelSpec:
        """The base with what was taken."""
        chosen = {feature: one.embedding for one in self.taken for feature in one.features}
        return with_embeddings(base, chosen, name)


def choose_features(gains: Sequence[FeatureGain], *, free_bytes: int, free_us: float) -> FeatureChoice:
    """Take options while they fit what is free of both budgets and gain something.

    An option that gains more than the one taken for its features replaces it, at the difference of both.

    Raises:
        InputError: a negative or infinite budget, or options that share some of their features but not all.
        MeasurementError: the solver found no best choice.
    """
    if free_bytes < 0 or not 0 <= free_us < math.inf:
        raise InputError(f"feature choice: budgets must be finite and >= 0, but got {free_bytes} B, {free_us} us")
    _require_groups(gains)
    taken: dict[tuple[str, ...], FeatureGain] = {}
    while (step := _best_step(gains, taken, free_bytes, free_us)) is not None:
        taken.pop(step.features, None)
        taken[step.features] = step
    used_bytes, used_us = _used(taken.values())
    return FeatureChoice(
        taken=tuple(taken.values()),
        best_gain=_best_gain(gains, free_bytes, free_us),
        free_bytes=free_bytes - used_bytes,
        free_us=free_us - used_us,
    )


def _best_step(
    gains: Sequence[FeatureGain], taken: dict[tuple[str, ...], FeatureGain], free_bytes: int, free_us: float
) -> FeatureGain | None:
    used_bytes, used_us = _used(taken.values())
    best, best_worth = None, -math.inf
    for one in gains:
        before = taken.get(one.features)
        gain = one.accuracy_gain - (before.accuracy_gain if before else 0.0)
        extra_bytes = one.extra_bytes - (before.extra_bytes if before else 0)
        extra_us = one.extra_us - (before.extra_us if before else 0.0)
        if gain <= 0 or used_bytes + extra_bytes > free_bytes or used_us + extra_us > free_us:
            continue
        share = _share(extra_bytes, free_bytes) + _share(extra_us, free_us)
        worth = gain / share if share > 0 else math.inf
        if worth > best_worth:
            best, best_worth = one, worth
    return best


def _share(extra: float, free: float) -> float:
    """What an option takes of a budget; nothing where it gives some back."""
    return max(extra, 0.0) / free if free > 0 else 0.0


def _used(taken: Iterable[FeatureGain]) -> tuple[int, float]:
    options = tuple(taken)
    return sum(one.extra_bytes for one in options), math.fsum(one.extra_us for one in options)


def _best_gain(gains: Sequence[FeatureGain], free_bytes: int, free_us: float) -> float:
    from scipy.optimize import Bounds, LinearConstraint, milp

    if not gains:
        return 0.0
    groups = sorted({one.features for one in gains})
    members = np.array([[one.features == group for one in gains] for group in groups], dtype=float)
    bytes_scale, us_scale = max(free_bytes, 1), max(free_us, 1e-9)
    sizes = np.array([one.extra_bytes for one in gains]) / bytes_scale
    times = np.array([one.extra_us for one in gains]) / us_scale
    found = milp(
        -np.array([one.accuracy_gain for one in gains]),
        integrality=np.ones(len(gains)),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(members, 0, 1),
            LinearConstraint(sizes[None, :], -np.inf, free_bytes / bytes_scale),
            LinearConstraint(times[None, :], -np.inf, free_us / us_scale),
        ],
    )
    if found.x is None:
        raise MeasurementError(f"feature choice: no best choice was found: {found.message}")
    return max(0.0, -float(found.fun))


def _require_groups(gains: Sequence[FeatureGain]) -> None:
    group_of: dict[str, tuple[str, ...]] = {}
    for one in gains:
        for feature in one.features:
            if group_of.setdefault(feature, one.features) != one.features:
                raise InputError(
                    f"feature choice: {feature!r} changes with {group_of[feature]} and with {one.features}"
                )
