"""Capacity: the highest QPS at which the SLA percentile holds, per policy, with a confidence interval over seeds.

Each seed's queries are drawn once and served again at every rate of a bisection (common random numbers), so that
policies and rates differ by what they do and not by luck. A greedy policy's violations need not grow steadily with the
rate; the bisection then finds one rate where holding turns into not holding. A finite run can hold a loose SLA above
the rate that the devices sustain, so the fluid upper bound is the highest rate tried.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from profiles.errors import InputError
from profiles.units import MS_PER_S, format_ms
from serving_sim import kernels
from serving_sim.engine import warmup_of
from serving_sim.fluid_bound import collect_rows, upper_bound_qps
from serving_sim.histogram import rank
from serving_sim.kernels import Chunk
from serving_sim.metrics import holds_sla
from serving_sim.paths import PathTables, compile_paths
from serving_sim.plan import Plan
from serving_sim.policies import Policy, PolicyLike, as_policy, policy_label, routing_context
from serving_sim.run import Run, start_run
from serving_sim.sizes import mean_size
from serving_sim.workload import WorkloadStream, empty_chunk

__all__ = ["DEFAULT_POLICIES", "CapacityResult", "PolicyCapacity", "find_capacity"]

DEFAULT_POLICIES = ("mp-rec", "table-switch")
# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.
_T_95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
)
_T_95_MANY = 1.96
# Where the bisection starts, as a share of the fluid upper bound: few queries meet a queue there.
_LOWEST = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyCapacity:
    """A policy's capacity: mean over seeds with a 95 % interval; accuracy and correct predictions at that rate."""

    policy: str
    max_qps: float
    ci_low: float
    ci_high: float
    accuracy: float
    correct_predictions_per_s: float
    max_qps_by_seed: tuple[float, ...]
    note: str = ""

    def to_object(self) -> dict[str, Any]:
        """The JSON object of a policy in `recplan capacity`."""
        return {
            "policy": self.policy,
            "max_qps": self.max_qps,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "accuracy": self.accuracy,
            "correct_predictions_per_s": self.correct_predictions_per_s,
            "note": self.note,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CapacityResult:
    """Capacities of the policies, beside the rate above which none could serve (fluid bound of the drawn queries)."""

    sla_ms: float
    percentile: float
    policies: tuple[PolicyCapacity, ...]
    upper_bound_qps: float

    def to_object(self) -> dict[str, Any]:
        """The JSON object of `recplan capacity`."""
        return {
            "sla_ms": self.sla_ms,
            "percentile": self.percentile,
            "policies": [policy.to_object() for policy in self.policies],
            "upper_bound_qps": self.upper_bound_qps,
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Trial:
    """One seed's queries, ready to be served at any rate."""

    plan: Plan
    tables: PathTables
    chunk: Chunk
    mean_samples: float

    def serve(self, policy: Policy, qps: float) -> Run:
        plan, queries = self.plan.at(qps=qps), len(self.chunk.size_N)
        rule = policy.compile(routing_context(plan, self.mean_samples))
        run = start_run(self.tables.arrays, rule, qps=qps, sla_ms=plan.workload.sla_ms, warmup=warmup_of(queries))
        run.serve(self.chunk, queries)
        return run

    def holds(self, policy: Policy, qps: float) -> bool:
        return holds_sla(self.serve(policy, qps), self.plan.workload.percentile)


def find_capacity(
    plan: Plan,
    policies: Sequence[PolicyLike] = DEFAULT_POLICIES,
    *,
    precision: float = 0.002,
    seeds: int = 5,
    queries: int = 100_000,
) -> CapacityResult:
    """The highest QPS that holds the plan's SLA percentile, for each policy; what else the workload says stays.

    `precision` is the relative width at which a seed's bisection stops. Seeds are `plan.seed`, `plan.seed + 1`, ...

    Raises:
        InputError: an unknown policy, a precision outside (0, 1), fewer than 2 seeds or 1 query.
    """
    if not 0 < precision < 1:
        raise InputError(f"precision: must be in (0, 1), but got {precision}")
    if seeds < 2 or queries < 1:
        raise InputError(f"seeds, queries: must be >= 2 and >= 1, but got {seeds} and {queries}")
    chosen = [as_policy(policy) for policy in policies]
    tables = compile_paths(plan)
    trials = [_draw(replace(plan, seed=plan.seed + offset), tables, queries) for offset in range(seeds)]
    bound = fmean(upper_bound_qps(collect_rows(trial.chunk, 0, queries, tables.arrays)) for trial in trials)
    return CapacityResult(
        sla_ms=plan.workload.sla_ms,
        percentile=plan.workload.percentile,
        policies=tuple(_capacity(policy, trials, bound, precision) for policy in chosen),
        upper_bound_qps=bound,
    )


def _draw(plan: Plan, tables: PathTables, queries: int) -> _Trial:
    chunk = empty_chunk(queries, len(tables.spreads))
    WorkloadStream(plan.workload, tables.spreads, plan.seed).fill(chunk, queries)
    return _Trial(plan=plan, tables=tables, chunk=chunk, mean_samples=mean_size(plan.workload.sizes))


def _capacity(policy: Policy, trials: Sequence[_Trial], bound: float, precision: float) -> PolicyCapacity:
    found = tuple(_max_qps(trial, policy, bound, precision) for trial in trials)
    mean = fmean(found)
    t_95 = _T_95[len(found) - 2] if len(found) - 2 < len(_T_95) else _T_95_MANY
    half = t_95 * stdev(found) / math.sqrt(len(found))
    runs = [trial.serve(policy, qps or bound * _LOWEST) for trial, qps in zip(trials, found, strict=True)]
    correct = fmean(_correct_per_s(run) for run in runs)
    return PolicyCapacity(
        policy=policy_label(policy),
        max_qps=mean,
        ci_low=max(mean - half, 0.0),
        ci_high=mean + half,
        accuracy=fmean(float(run.totals.sums[kernels.CORRECT] / run.totals.counts[kernels.SAMPLES]) for run in runs),
        correct_predictions_per_s=correct if mean else 0.0,
        max_qps_by_seed=found,
        note="" if all(found) else _miss(trials[found.index(0.0)], policy, bound),
    )


def _max_qps(trial: _Trial, policy: Policy, bound: float, precision: float) -> float:
    if not trial.holds(policy, bound * _LOWEST):
        return 0.0
    return _bisect(lambda qps: trial.holds(policy, qps), bound * _LOWEST, bound, precision)


def _bisect(holds: Callable[[float], bool], low: float, high: float, precision: float) -> float:
    """The rate, to relative `precision`, up to which the SLA holds; it holds at `low`."""
    if holds(high):
        return high
    while high > low * (1 + precision):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _correct_per_s(run: Run) -> float:
    span_ms = run.totals.sums[kernels.LAST_FINISH_MS] - run.totals.sums[kernels.FIRST_MS]
    return float(run.totals.sums[kernels.CORRECT] / span_ms) * MS_PER_S


def _miss(trial: _Trial, policy: Policy, bound: float) -> str:
    """By how much an idle system misses the SLA."""
    counts = trial.serve(policy, bound * _LOWEST).totals.counts
    share = int(counts[kernels.VIOLATIONS]) / int(counts[kernels.COUNTED])
    load, arrays = trial.plan.workload, trial.tables.arrays
    fastest_ms = sorted(arrays.service_ms_SP.min(axis=1)[trial.chunk.size_N].tolist())
    needed_ms = fastest_ms[rank(load.percentile, len(fastest_ms))]
    gap = needed_ms - load.sla_ms
    how = f"misses by {format_ms(gap)}" if gap > 0 else f"would leave {format_ms(-gap)}"
    return (
        f"even on idle devices {share:.2%} of queries exceed the SLA of {format_ms(load.sla_ms)}; at the "
        f"{load.percentile:g}th percentile the fastest path takes {format_ms(needed_ms)} and {how}"
    )
