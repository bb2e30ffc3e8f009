"""Capacity: the highest QPS at which the SLA percentile holds, per policy, with a confidence interval over seeds.

Each seed's queries are drawn once and served again at every rate (common random numbers), so that policies and rates
differ by what they do and not by luck. A policy's rule may depend on the rate, so that it holds the SLA at one rate and
not at a lower one: rates are tried on a geometric grid from the highest down, and the step above the first that holds
is bisected. The highest is the fluid bound of the drawn queries on the paths that the policy uses.

A finite run can hold a loose SLA while its queues grow all along, so a rate also has to leave no more work behind than
chance explains: the drain after the last arrival, less one service, is at most 1 % or 2 / sqrt(queries) of the run.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

import numpy as np

from profiles.errors import InputError
from profiles.units import MS_PER_S, format_ms
from serving_sim import kernels
from serving_sim.engine import warmup_of
from serving_sim.fluid_bound import collect_rows, upper_bound_qps
from serving_sim.histogram import rank
from serving_sim.kernels import Chunk
from serving_sim.metrics import holds_sla
from serving_sim.paths import PathTables, compile_paths
from serving_sim.plan import HIGHEST_QPS, LOWEST_QPS, Plan
from serving_sim.policies import Policy, PolicyLike, as_policy, policy_label, routing_context
from serving_sim.run import Run, start_run
from serving_sim.sizes import mean_load_size
from serving_sim.workload import WorkloadStream, at_rate, empty_chunk

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
_NORMAL_95 = 1.959963985
# The grid of rates: from the highest down to a thousandth of it, where few queries meet a queue.
_GRID = tuple(2 ** (-step / 2) for step in range(21))
_GROWTH_SHARE, _GROWTH_SIGMAS = 0.01, 2.0


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
        run = start_run(self.tables.arrays, rule, qps=qps, sla_ms=plan.workload.slas_ms, warmup=warmup_of(queries))
        run.serve(at_rate(self.chunk, plan.workload, plan.seed), queries)
        return run

    def holds(self, policy: Policy, qps: float) -> bool:
        run = self.serve(policy, qps)
        return holds_sla(run, self.plan.workload.percentile) and not self._backlog_grows(run)

    def _backlog_grows(self, run: Run) -> bool:
        last_arrival_ms, queries = float(run.queues.clock_ms[0]), len(self.chunk.size_N)
        drain_ms = float(run.totals.sums[kernels.LAST_FINISH_MS]) - last_arrival_ms
        share = max(_GROWTH_SHARE, _GROWTH_SIGMAS / math.sqrt(queries))
        return drain_ms - float(self.chunk.service_ms_N.max()) > share * last_arrival_ms

    def highest_qps(self, policy: Policy) -> float:
        """What the devices serve at most on the paths of the policy's rule."""
        rule = policy.compile(routing_context(self.plan, self.mean_samples))
        used = rule.path_E[:1] if rule.kind == kernels.FIXED else np.unique(rule.path_E)
        rows = collect_rows(self.chunk, 0, len(self.chunk.size_N), self.tables.arrays)
        return min(upper_bound_qps(rows.on_paths(used)), HIGHEST_QPS)


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
    WorkloadStream(plan.workload, tables.spreads, plan.seed, timed=False).fill(chunk, queries)
    return _Trial(plan=plan, tables=tables, chunk=chunk, mean_samples=mean_load_size(plan.workload))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Search:
    """What was found for one seed: the highest rate tried, the capacity (0 where no rate holds), the lowest rate."""

    highest_qps: float
    max_qps: float
    lowest_qps: float


def _capacity(policy: Policy, trials: Sequence[_Trial], bound: float, precision: float) -> PolicyCapacity:
    searches = [_search(trial, policy, precision) for trial in trials]
    found = tuple(search.max_qps for search in searches)
    mean = fmean(found)
    half = _t_95(len(found) - 1) * stdev(found) / math.sqrt(len(found))
    most = min(bound, fmean(search.highest_qps for search in searches))
    runs = [
        trial.serve(policy, search.max_qps or search.lowest_qps) for trial, search in zip(trials, searches, strict=True)
    ]
    correct = fmean(_correct_per_s(run) for run in runs)
    return PolicyCapacity(
        policy=policy_label(policy),
        max_qps=mean,
        ci_low=max(mean - half, 0.0),
        ci_high=max(mean, min(mean + half, most)),
        accuracy=fmean(float(run.totals.sums[kernels.CORRECT] / run.totals.counts[kernels.SAMPLES]) for run in runs),
        correct_predictions_per_s=correct if mean else 0.0,
        max_qps_by_seed=found,
        note="; ".join(_notes(trials, searches, policy)),
    )


def _t_95(freedom: int) -> float:
    """Student's t, two-sided 95 %: a table, then the expansion about the normal (Abramowitz and Stegun 26.7.5)."""
    if freedom <= len(_T_95):
        return _T_95[freedom - 1]
    z = _NORMAL_95
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return float(sum(term / freedom**power for power, term in enumerate(terms)))


def _search(trial: _Trial, policy: Policy, precision: float) -> _Search:
    highest = trial.highest_qps(policy)
    rates = [max(highest * share, LOWEST_QPS) for share in _GRID]
    place = next((place for place, qps in enumerate(rates) if trial.holds(policy, qps)), None)
    max_qps = 0.0 if place is None else rates[place]
    if place:
        max_qps = _bisect(lambda qps: trial.holds(policy, qps), rates[place], rates[place - 1], precision)
    return _Search(highest_qps=highest, max_qps=max_qps, lowest_qps=rates[-1])


def _bisect(holds: Callable[[float], bool], low: float, high: float, precision: float) -> float:
    """The rate, to relative `precision`, up to which the SLA holds; it holds at `low` and not at `high`."""
    while high > low * (1 + precision):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _notes(trials: Sequence[_Trial], searches: Sequence[_Search], policy: Policy) -> Iterator[str]:
    load = trials[0].plan.workload
    missed = next((place for place, search in enumerate(searches) if not search.max_qps), None)
    if missed is not None:
        yield _miss(trials[missed], policy, searches[missed].lowest_qps)
    elif gap := _lower_gap(trials[0], policy, searches[0]):
        yield gap
    if capped := sum(search.max_qps == search.highest_qps for search in searches):
        yield f"for {capped} of {len(searches)} seeds limited by what its devices sustain, not by the SLA"
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


def _lower_gap(trial: _Trial, policy: Policy, search: _Search) -> str:
    """Where the rates that hold end below, if they do; to the width of the grid."""
    lowest = search.max_qps
    for qps in (max(search.highest_qps * share, LOWEST_QPS) for share in _GRID):
        if qps >= search.max_qps:
            continue
        if not trial.holds(policy, qps):
            return f"the SLA holds between {lowest:.4g} and {search.max_qps:.4g} queries/s, not below: not at {qps:.4g}"
        lowest = qps
    return ""


def _correct_per_s(run: Run) -> float:
    span_ms = run.totals.sums[kernels.LAST_FINISH_MS] - run.totals.sums[kernels.FIRST_MS]
    return float(run.totals.sums[kernels.CORRECT] / span_ms) * MS_PER_S


def _miss(trial: _Trial, policy: Policy, lowest_qps: float) -> str:
    """By how much an idle system misses the SLA."""
    counts = trial.serve(policy, lowest_qps).totals.counts
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
