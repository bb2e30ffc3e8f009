"""The adaptive sweep: fill each family's space, then measure where its model is least certain, until it is good enough.

All families go on together, one sweep per round, so that the visits of one component lie far apart in time. The store
is the only state: what it holds of a family counts as measured, so that a sweep which was killed goes on.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.cost_model.sampling.budget import SamplingBudget
from planner.cost_model.sampling.family_sampler import FamilySampler, StopReason
from planner.cost_model.sampling.space import SamplingSpace
from planner.cost_model.training_rows import WHOLE_MODELS, limits_of, training_rows
from profiles.component import Component
from profiles.executors.protocol import Executor
from profiles.hardware import LOCAL_CPU
from profiles.providers.protocol import ComponentProvider
from profiles.store import ProfileStore
from profiles.sweep import SweepProgress, SweepResult, sweep
from profiles.sweep_options import SweepOptions

__all__ = ["AdaptiveResult", "FamilySampling", "SamplingProgress", "adaptive_sweep"]

_LEAST_ROUND = 8
# A round adds a third of what was measured: few fits, and none of them looks far ahead.
_GROWTH = 1 / 3
_UNBOUNDED = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class FamilySampling:
    """What became of a family: `curve` holds (points, error of shapes held out) after each round, `stopped` says why.

    The error is that of the sweep's own quick model (see `surrogate`), None where there are too few points for one.
    """

    family: str
    kind: str
    points: int
    error: float | None
    stopped: StopReason
    curve: tuple[tuple[int, float], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AdaptiveResult:
    """Every family in order of its name, and the counts of all rounds together."""

    families: tuple[FamilySampling, ...]
    sweep: SweepResult


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplingProgress:
    """Within a round: its sweep's counts, how many families still go on, and the one that is worst, with its error."""

    round: int
    open_families: int
    worst: str
    worst_error: float | None
    sweep: SweepProgress


def adaptive_sweep(
    spaces: Sequence[SamplingSpace],
    provider: ComponentProvider,
    store: ProfileStore,
    *,
    device: str = LOCAL_CPU,
    executor: Executor | None = None,
    options: SweepOptions | None = None,
    budget: SamplingBudget | None = None,
    seconds_in_all: float | None = None,
    progress: Callable[[SamplingProgress], None] | None = None,
) -> AdaptiveResult:
    """Measure components of the spaces until each family is as good as the budget's goal, or its kind's share is spent.

    `seconds_in_all` bounds the whole as well; a round is cut to what is likely to fit.

    Raises:
        InputError: the device is not here.
        StorageError: a visit or row cannot be written; what was written before stays.
    """
    options, budget = options or SweepOptions(), budget or SamplingBudget()
    executor = executor or _in_process()
    key = executor.fingerprint(device, options.threads).device_key()
    samplers = [FamilySampler(space, provider.work, budget, seed=options.seed) for space in spaces]
    purse = _Purse(budget, seconds_in_all)
    total = SweepResult(measured=0, reused=0, skipped=())
    _learn(samplers, store, key)
    for turn in range(budget.points):
        wanted = _wanted(samplers, purse, budget)
        if not wanted:
            break
        tell = _teller(turn, samplers, progress) if progress else None
        components = [component for part in wanted.values() for component in part]
        result = sweep(components, provider, store, device=device, executor=executor, options=options, progress=tell)
        purse.spend(result, wanted)
        total = _added(total, result)
        _learn(samplers, store, key)
    done = [_sampling(sampler) for sampler in samplers]
    return AdaptiveResult(families=tuple(sorted(done, key=lambda one: one.family)), sweep=total)


class _Purse:
    """Points and seconds spent, by kind and in all."""

    def __init__(self, budget: SamplingBudget, seconds_in_all: float | None) -> None:
        self._budget, self._in_all = budget, seconds_in_all
        self._start = time.perf_counter()
        self._seconds: dict[str, float] = {}
        self._measured, self._measuring_s = 0, 0.0

    def spend(self, result: SweepResult, wanted: Mapping[FamilySampler, Sequence[Component]]) -> None:
        """Charge each kind its share of a round, by its number of components."""
        count = sum(map(len, wanted.values()))
        self._measured += result.measured
        self._measuring_s += result.seconds
        for sampler, part in wanted.items():
            kind = sampler.space.kind
            self._seconds[kind] = self._seconds.get(kind, 0.0) + result.seconds * len(part) / count

    def affordable(self, kind: str) -> int:
        """How many more components of a kind its seconds are likely to pay for."""
        left_s = self._budget.seconds - self._seconds.get(kind, 0.0)
        return self._points_in(left_s)

    def affordable_in_all(self) -> int:
        """How many more components of all kinds together."""
        if self._in_all is None:
            return _UNBOUNDED
        return self._points_in(self._in_all - (time.perf_counter() - self._start))

    def _points_in(self, seconds: float) -> int:
        if seconds <= 0:
            return 0
        if not self._measured:
            return _UNBOUNDED
        return int(seconds / (self._measuring_s / self._measured))


def _wanted(
    samplers: Sequence[FamilySampler], purse: _Purse, budget: SamplingBudget
) -> dict[FamilySampler, tuple[Component, ...]]:
    """The next round: what each family that goes on wants, within what its kind and all may still spend."""
    going = [sampler for sampler in samplers if sampler.stopped is None]
    wanted: dict[FamilySampler, tuple[Component, ...]] = {}
    for sampler in going:
        of_kind = [one for one in samplers if one.space.kind == sampler.space.kind]
        alike = sum(one.stopped is None for one in of_kind)
        points_left = budget.points - sum(one.asked for one in of_kind)
        time_left = min(purse.affordable(sampler.space.kind) // alike, purse.affordable_in_all() // len(going))
        size = budget.first if not sampler.asked else max(_LEAST_ROUND, round(sampler.asked * _GROWTH))
        count = min(size, points_left // alike)
        if count < 1 or time_left < 1:
            sampler.stop("points" if count < 1 else "time")
        elif part := sampler.next(min(count, time_left)):
            wanted[sampler] = part
        else:
            sampler.stop("end of space")
    return wanted


def _learn(samplers: Sequence[FamilySampler], store: ProfileStore, key: str) -> None:
    profiles = [
        row
        for row in store.load()
        if row.fingerprint.device_key() == key
        and row.provenance == "measured"
        and row.warm
        and row.kind not in WHOLE_MODELS
    ]
    if not profiles:
        return
    rows = training_rows(profiles)
    limits = limits_of(rows.fingerprint)
    for sampler in samplers:
        sampler.learn(rows, limits)


def _teller(
    turn: int, samplers: Sequence[FamilySampler], progress: Callable[[SamplingProgress], None]
) -> Callable[[SweepProgress], None]:
    going = [sampler for sampler in samplers if sampler.stopped is None]
    worst = max(going, key=lambda one: one.error or 0.0)

    def tell(now: SweepProgress) -> None:
        progress(
            SamplingProgress(
                round=turn + 1,
                open_families=len(going),
                worst=worst.space.family,
                worst_error=worst.error,
                sweep=now,
            )
        )

    return tell


def _added(total: SweepResult, result: SweepResult) -> SweepResult:
    return replace(
        total,
        measured=total.measured + result.measured,
        reused=total.reused + result.reused,
        skipped=(*total.skipped, *result.skipped),
        seconds=total.seconds + result.seconds,
    )


def _sampling(sampler: FamilySampler) -> FamilySampling:
    return FamilySampling(
        family=sampler.space.family,
        kind=sampler.space.kind,
        points=sampler.points,
        error=sampler.error,
        stopped=sampler.stopped or "points",
        curve=tuple(sampler.curve),
    )


def _in_process() -> Executor:
    # Loads torch.
    from profiles.executors.in_process import InProcessExecutor

    return InProcessExecutor()
