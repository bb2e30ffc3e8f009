"""What became of a trial, as its record."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from optuna.trial import Trial

from planner.search.candidate import Candidate
from planner.search.evaluation import Predicted, Trained
from planner.search.objective import METRICS
from planner.search.records import RungScore, TrialRecord, TrialState
from profiles.errors import MeasurementError

__all__ = ["Asked", "infeasible_record", "rung_score", "stopped_record", "trained_record"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A trial, its candidate, and what that is predicted to cost."""

    trial: Trial
    candidate: Candidate
    predicted: Predicted


def infeasible_record(asked: Asked, reason: str) -> TrialRecord:
    """A candidate that was not trained, since it breaks a limit."""
    return _record(asked, state="infeasible", reason=reason)


def trained_record(
    asked: Asked, trained: Trained | MeasurementError, before: tuple[RungScore, ...] = (), order: int | None = None
) -> TrialRecord:
    """A training that came to its end, by an error or with metrics; `before` are its scores on the way.

    With an `order` the last score is kept among the rungs too.
    """
    spent_s = sum(rung.seconds for rung in before)
    if isinstance(trained, MeasurementError):
        return _record(asked, state="failed", reason=str(trained), train_seconds=spent_s or None, rungs=before)
    seconds = spent_s + trained.seconds
    metrics = {name: float(getattr(trained, name)) for name in METRICS}
    bad = [f"{name} is {value}" for name, value in metrics.items() if not math.isfinite(value)]
    if bad:
        reason = f"{', '.join(bad)} after training"
        return _record(asked, state="failed", reason=reason, train_seconds=seconds, rungs=before)
    rungs = before if order is None else (*before, rung_score(trained, 1.0, order))
    return _record(asked, state="complete", train_seconds=seconds, metrics=metrics, test=trained.test, rungs=rungs)


def stopped_record(asked: Asked, rungs: tuple[RungScore, ...]) -> TrialRecord:
    """A training that has come as far as its last rung."""
    reason = f"stopped after {rungs[-1].share:.3g} of its training, since others promised more"
    seconds = sum(rung.seconds for rung in rungs)
    return _record(asked, state="stopped", reason=reason, train_seconds=seconds, rungs=rungs)


def rung_score(trained: Trained, share: float, order: int) -> RungScore:
    """The metrics of a training at a share of it."""
    metrics = {name: float(getattr(trained, name)) for name in METRICS}
    return RungScore(share=share, order=order, seconds=trained.seconds, **metrics)


def _record(
    asked: Asked,
    *,
    state: TrialState,
    reason: str = "",
    train_seconds: float | None = None,
    metrics: Mapping[str, float] | None = None,
    test: Mapping[str, float] | None = None,
    rungs: tuple[RungScore, ...] = (),
) -> TrialRecord:
    return TrialRecord(
        number=asked.trial.number,
        state=state,
        choices=asked.candidate.choices,
        model=asked.candidate.model,
        latency_ms=asked.predicted.latency_ms,
        parameter_bytes=int(asked.predicted.parameter_bytes),
        flops=float(asked.predicted.flops),
        costs=dict(asked.predicted.costs),
        feasible=state in ("complete", "stopped"),
        reason=reason,
        train_seconds=train_seconds,
        test=dict(test or {}),
        rungs=rungs,
        **(metrics or {}),
    )
