"""Capacity: the highest QPS at which the SLA percentile holds, per policy, with what is uncertain about it.

Each seed's queries serve every policy and rate, so that policies differ by what they do and not by luck. Two errors are
told apart: that of the queries drawn (Student's t over seeds), and that of the latency tables, whose error bars move
all tables together to the ends of their 95 % interval (policies read the moved tables too; the seeds' first queries).
With classes of queries, every class has to hold its own SLA; a refused query counts as late.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from profiles.errors import InputError
from serving_sim.capacity_result import CapacityResult, OneDown, PolicyCapacity
from serving_sim.capacity_sampling import Sampling, precision_of, sampling_for
from serving_sim.capacity_search import SeedCapacity, draw_trial, search_capacity
from serving_sim.early_stopping import most_late
from serving_sim.engine import warmup_of
from serving_sim.fluid_bound import upper_bound_qps
from serving_sim.paths import compile_paths
from serving_sim.plan import Plan
from serving_sim.policies import Policy, PolicyLike, as_policy, policy_label
from serving_sim.reliability import plans_without_one_device
from serving_sim.student import half_width_95
from serving_sim.suitable import why_unsuitable
from serving_sim.table_errors import table_ends

__all__ = ["DEFAULT_POLICIES", "CapacityResult", "OneDown", "PolicyCapacity", "find_capacity"]

DEFAULT_POLICIES = ("mp-rec", "table-switch", "headroom")
_PILOT = Sampling(queries=20_000, seeds=8)
_MOST_ROUNDS = 4
# Of the precision asked for, what the bisection may add.
_RESOLUTION_SHARE = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What the seeds say: per policy one capacity a seed, and the bound on all policies."""

    by_policy: tuple[tuple[SeedCapacity, ...], ...]
    bound_qps: float
    sampling: Sampling

    @property
    def reached(self) -> float | None:
        """The precision of the policy that is known worst."""
        known = [precision_of([one.max_qps for one in seeds]) for seeds in self.by_policy]
        return max((one for one in known if one is not None), default=None)


def find_capacity(
    plan: Plan,
    policies: Sequence[PolicyLike] = DEFAULT_POLICIES,
    *,
    precision: float | None = None,
    seeds: int = 5,
    queries: int = 100_000,
    resolution: float = 0.002,
    early_stopping: bool = False,
    n_plus_one: bool = False,
    table_errors: bool = True,
) -> CapacityResult:
    """The highest QPS that holds the plan's SLA percentile, for each policy; what else the workload says stays.

    Seeds are `plan.seed`, `plan.seed + 1`, ...; `resolution` is the relative width at which a seed's bisection stops.
    With `precision` (half of the seeds' 95 % interval over the mean), pilot runs choose seeds and queries instead.
    `early_stopping` takes a rate as held where MLPerf's early stopping passes it; `n_plus_one` also searches with each
    device down; `table_errors` says whether the latency tables' error bars are followed up. Policies that cannot
    serve the plan (say parts of a query, where paths have shards) are left out, and the result says why.

    Raises:
        InputError: an unknown policy, none that can serve the plan, a precision or resolution outside (0, 1), fewer
            than 2 seeds or 1 query, or too few queries for early stopping to pass any run.
    """
    if precision is not None and not 0 < precision < 1:
        raise InputError(f"precision: must be in (0, 1), but got {precision}")
    chosen, left_out = _suitable(plan, [as_policy(policy) for policy in policies])
    sampling = Sampling(queries=queries, seeds=seeds, resolution=resolution, early_stopping=early_stopping)
    if early_stopping and most_late(queries - warmup_of(queries), plan.workload.percentile) < 0:
        raise InputError(f"queries: too few for early stopping to pass any run, got {queries}")
    found = _search(plan, chosen, sampling) if precision is None else _search_to(plan, chosen, sampling, precision)
    return CapacityResult(
        sla_ms=plan.workload.sla_ms,
        percentile=plan.workload.percentile,
        policies=tuple(
            _capacity(plan, policy, of_seeds, found, n_plus_one=n_plus_one, table_errors=table_errors)
            for policy, of_seeds in zip(chosen, found.by_policy, strict=True)
        ),
        upper_bound_qps=found.bound_qps,
        queries=found.sampling.queries,
        seeds=found.sampling.seeds,
        reached=found.reached,
        precision=precision,
        early_stopping=early_stopping,
        slas_by_class={one.name: one.sla_ms for one in plan.workload.classes} or None,
        left_out=left_out,
    )


def _suitable(plan: Plan, policies: Sequence[Policy]) -> tuple[list[Policy], dict[str, str]]:
    """The policies that can serve the plan, and the complaints about the others, by label."""
    complaints = [why_unsuitable(plan, policy) for policy in policies]
    left_out = {policy_label(one): why for one, why in zip(policies, complaints, strict=True) if why is not None}
    suitable = [one for one, why in zip(policies, complaints, strict=True) if why is None]
    if left_out and not suitable:
        raise InputError(next(iter(left_out.values())))
    return suitable, left_out


def _search_to(plan: Plan, policies: Sequence[Policy], sampling: Sampling, precision: float) -> _Found:
    """Pilot runs, then as many rounds of larger samples as it takes."""
    now = replace(
        sampling,
        queries=max(_PILOT.queries, sampling.queries) if sampling.early_stopping else _PILOT.queries,
        seeds=_PILOT.seeds,
        resolution=min(sampling.resolution, _RESOLUTION_SHARE * precision),
    )
    found = _search(plan, policies, now)
    for _ in range(_MOST_ROUNDS):
        if found.reached is None or found.reached <= precision:
            break
        larger = sampling_for(precision, found.reached, found.sampling)
        if larger == found.sampling:
            break
        found = _search(plan, policies, larger)
    return found


def _search(plan: Plan, policies: Sequence[Policy], sampling: Sampling, *, look_below: bool = True) -> _Found:
    """One seed after the other, so that only one seed's queries are in memory."""
    tables = compile_paths(plan)
    of_seeds: list[list[SeedCapacity]] = []
    bounds: list[float] = []
    for offset in range(sampling.seeds):
        seeded = replace(plan, seed=plan.seed + offset)
        trial = draw_trial(seeded, sampling.queries, tables, early_stopping=sampling.early_stopping)
        bounds.append(upper_bound_qps(trial.rows()))
        of_seeds.append(
            [
                search_capacity(trial, policy, sampling.resolution, look_below=look_below and offset == 0)
                for policy in policies
            ]
        )
    return _Found(by_policy=tuple(zip(*of_seeds, strict=True)), bound_qps=fmean(bounds), sampling=sampling)


def _capacity(
    plan: Plan,
    policy: Policy,
    seeds: Sequence[SeedCapacity],
    found: _Found,
    *,
    n_plus_one: bool,
    table_errors: bool,
) -> PolicyCapacity:
    mean, low, high = _interval(seeds)
    table_low, table_high = (
        _table_interval(plan, policy, seeds[0], mean, found.sampling) if table_errors else (None, None)
    )
    return PolicyCapacity(
        policy=policy_label(policy),
        max_qps=mean,
        ci_low=low,
        ci_high=high,
        table_low=table_low,
        table_high=table_high,
        combined_low=max(mean - math.hypot(mean - low, mean - (mean if table_low is None else table_low)), 0.0),
        combined_high=mean + math.hypot(high - mean, (mean if table_high is None else table_high) - mean),
        accuracy=fmean(one.accuracy for one in seeds),
        correct_predictions_per_s=fmean(one.correct_per_s for one in seeds) if mean else 0.0,
        max_qps_by_seed=tuple(one.max_qps for one in seeds),
        n_plus_one=_one_down(plan, policy, found.sampling) if n_plus_one else None,
        late_share_by_class={
            one.name: fmean(seed.late_share_C[place] for seed in seeds)
            for place, one in enumerate(plan.workload.classes)
            if all(seed.late_share_C for seed in seeds)
        }
        or None,
        note="; ".join(_notes(plan, seeds)),
    )


def _interval(seeds: Sequence[SeedCapacity]) -> tuple[float, float, float]:
    """Mean over the seeds and its 95 % interval, which ends at what the policy's paths sustain."""
    by_seed = [one.max_qps for one in seeds]
    mean, half, most = fmean(by_seed), half_width_95(by_seed), fmean(one.highest_qps for one in seeds)
    return mean, max(mean - half, 0.0), max(mean, min(mean + half, most))


def _table_interval(
    plan: Plan, policy: Policy, base: SeedCapacity, mean: float, sampling: Sampling
) -> tuple[float | None, float | None]:
    """The mean times what the tables' errors change for the first seed."""
    if (both := table_ends(plan)) is None:
        return None, None
    slow_qps, fast_qps = (_first_seed(one, policy, sampling).max_qps for one in both)
    if not base.max_qps:
        return min(slow_qps, fast_qps, mean), max(slow_qps, fast_qps, mean)
    ends = (mean, mean * slow_qps / base.max_qps, mean * fast_qps / base.max_qps)
    return min(ends), max(ends)


def _first_seed(plan: Plan, policy: Policy, sampling: Sampling) -> SeedCapacity:
    trial = draw_trial(plan, sampling.queries, early_stopping=sampling.early_stopping)
    return search_capacity(trial, policy, sampling.resolution)


def _one_down(plan: Plan, policy: Policy, sampling: Sampling) -> OneDown:
    """The least of the capacities with each device down, over the same queries."""
    intervals: dict[str, tuple[float, float, float]] = {}
    for device, left in plans_without_one_device(plan):
        intervals[device.name] = (
            (0.0, 0.0, 0.0)
            if left is None
            else _interval(_search(left, [policy], sampling, look_below=False).by_policy[0])
        )
    worst = min(intervals, key=lambda name: intervals[name][0])
    mean, low, high = intervals[worst]
    by_device = {name: interval[0] for name, interval in intervals.items()}
    return OneDown(device=worst, max_qps=mean, ci_low=low, ci_high=high, by_device=by_device)


def _notes(plan: Plan, seeds: Sequence[SeedCapacity]) -> Iterator[str]:
    missed = next((one.note for one in seeds if not one.max_qps), "")
    if first := missed or seeds[0].note:
        yield first
    if capped := sum(one.max_qps == one.highest_qps != 0 for one in seeds):
        yield f"for {capped} of {len(seeds)} seeds limited by what its devices sustain, not by the SLA"
    load = plan.workload
    replayed = [
        name
        for name, kind in (("arrivals", load.arrivals.process), ("sizes", load.sizes.distribution))
        if kind == "trace"
    ]
    if replayed:
        yield (
            f"{' and '.join(replayed)} replay one trace, which seeds only start at another place: the interval is no "
            "confidence interval for other traffic"
        )
