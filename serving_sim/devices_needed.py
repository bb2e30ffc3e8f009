"""How many of which devices a rate needs: the cheapest number of replicas of each that holds the SLA, and its cost.

A replica of a device is that device once more, with its servers, price, power and paths; replicas of one device share
one queue. Every combination up to a bound is tried, the cheapest first, so the first that holds the SLA for every seed
is the cheapest of all. Most are ruled out without a simulation by the fluid program: at any prices of device time, the
queries at that rate cost at least `rate x mean over queries of the least price x service`, and a combination offers
`sum of price x servers`. Each program solved gives one such cut, for all combinations at once. Under a policy
that joins or splits queries, service counts at the least that their samples can take.

Shape suffixes: M combinations, D devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError, UnknownNameError
from profiles.units import MS_PER_S, SECONDS_PER_HOUR, format_items
from serving_sim.capacity_search import draw_trial, figures_at, search_capacity, served_share_of
from serving_sim.events import event_plan
from serving_sim.fluid_bound import FluidRows, collect_rows, rate_bound, rate_prices, served_cost
from serving_sim.kernels import FIXED
from serving_sim.paths import compile_paths
from serving_sim.plan import MOST_SERVERS, Device, Plan
from serving_sim.policies import Policy, PolicyLike, as_policy, policy_label, routing_context
from serving_sim.reliability import runs_on
from serving_sim.run import Run
from serving_sim.run_bound import cheapest_paths

__all__ = ["DevicesNeeded", "devices_needed", "with_replicas"]

_MOST_COMBINATIONS = 200_000
# Bounds are found to 1e-7; what rounding may add.
_SLACK = 1e-6

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class DevicesNeeded:
    """The cheapest replicas that serve `qps` within the SLA, at what cost; no replicas where none up to `most` do.

    Costs are in the currency of the plan's prices, None where a device has none: then the fewest replicas win.
    `tried` combinations were simulated, `ruled_out` by the fluid bound alone.
    """

    policy: str
    qps: float
    replicas: dict[str, int]
    most: int
    n_plus_one: bool
    cost_per_hour: float | None
    cost_per_million_correct: float | None
    correct_predictions_in_sla_per_s: float
    accuracy: float
    tried: int
    ruled_out: int
    note: str = ""

    def to_object(self) -> dict[str, Any]:
        """The JSON object of a policy in `recplan capacity --for-qps`."""
        return {
            "policy": self.policy,
            "qps": self.qps,
            "replicas": dict(self.replicas),
            "most": self.most,
            "n_plus_one": self.n_plus_one,
            "cost_per_hour": self.cost_per_hour,
            "cost_per_million_correct": self.cost_per_million_correct,
            "correct_predictions_in_sla_per_s": self.correct_predictions_in_sla_per_s,
            "accuracy": self.accuracy,
            "tried": self.tried,
            "ruled_out": self.ruled_out,
            "note": self.note,
        }


def devices_needed(
    plan: Plan,
    qps: float,
    policy: PolicyLike | None = None,
    *,
    most: int = 8,
    queries: int = 50_000,
    seeds: int = 3,
    n_plus_one: bool = False,
) -> DevicesNeeded:
    """The cheapest replicas of the plan's devices, `most` of each, with which the policy holds the SLA at that rate.

    With `n_plus_one` the SLA also holds with any one replica down.

    Raises:
        InputError: a bad rate or number, or more than 200,000 combinations.
    """
    if most < 1 or queries < 1 or seeds < 1:
        raise InputError(f"most, queries, seeds: must be >= 1, but got {most}, {queries} and {seeds}")
    if (combinations := (most + 1) ** len(plan.devices)) > _MOST_COMBINATIONS:
        raise InputError(f"most: gives {combinations} combinations, more than {_MOST_COMBINATIONS}; choose less")
    chosen = as_policy(plan.policy if policy is None else policy)
    search = _started(plan.at(qps=qps), chosen, queries=queries, seeds=seeds, n_plus_one=n_plus_one)
    count_MD = _by_cost(plan.devices, most)
    is_open_M = np.ones(len(count_MD), dtype=np.bool_)
    tried = 0
    while is_open_M.any():
        place = int(is_open_M.argmax())
        is_open_M[place] = False
        cut = search.cut(count_MD[place])
        if cut is None:
            tried += 1
            if runs := search.held(count_MD[place]):
                ruled_out = int((~is_open_M).sum()) - tried
                return _described(search, count_MD[place], runs, most=most, tried=tried, ruled_out=ruled_out)
        else:
            is_open_M &= ~cut.rules_out(count_MD)
    return _none(search, most=most, tried=tried, ruled_out=len(count_MD) - tried)


def with_replicas(plan: Plan, counts: Sequence[int]) -> Plan | None:
    """The plan with so many replicas of each device; one of none goes with its paths. None where no path is left."""
    gone = [device.name for device, count in zip(plan.devices, counts, strict=True) if count == 0]
    paths = tuple(path for path in plan.paths if not any(runs_on(path, name) for name in gone))
    if not paths:
        return None
    devices = tuple(_times(device, count) for device, count in zip(plan.devices, counts, strict=True) if count)
    return replace(plan, paths=paths, devices=devices)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Cut:
    """No combination whose replicas are worth less than `needed` at these prices serves the rate."""

    replica_price_D: Floats
    needed: float

    def rules_out(self, count_MD: Ints) -> NDArray[np.bool_]:
        is_out_M: NDArray[np.bool_] = count_MD @ self.replica_price_D < self.needed * (1 - _SLACK)
        return is_out_M


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Search:
    """A rate, a policy and its queries: `rows` are those of the first seed, on the paths that the policy may take."""

    plan: Plan
    policy: Policy
    queries: int
    seeds: int
    n_plus_one: bool
    rows: FluidRows
    used_P: Ints
    served_share: float

    def cut(self, count_D: Ints) -> _Cut | None:
        """The fluid program's reason why the combination is too small; None where it sees none."""
        device_P, servers_D = self.rows.paths.device_P, self.rows.paths.servers_D
        there_U = self.used_P[count_D[device_P[self.used_P]] > 0]
        if not there_U.size:
            return None
        devices = np.unique(device_P[there_U])
        part = self.rows.on_paths(there_U)
        part = replace(part, paths=part.paths._replace(servers_D=servers_D[devices] * count_D[devices]))
        price_U = rate_prices(part)
        if rate_bound(part, price_U, self.served_share) >= self.plan.workload.qps * (1 - _SLACK):
            return None
        price_D = np.zeros(len(count_D))
        price_D[devices] = price_U
        cost_R = (part.service_ms_RP * price_U[part.paths.device_P]).min(axis=1)
        for device in np.setdiff1d(device_P[self.used_P], devices):
            # A device that is not there gets the price at which no query would go to it.
            own = self.used_P[device_P[self.used_P] == device]
            price_D[device] = float((cost_R / self.rows.service_ms_RP[:, own].min(axis=1)).max())
        needed = self.plan.workload.qps / MS_PER_S * served_cost(part, price_U, self.served_share)
        return _Cut(replica_price_D=price_D * servers_D, needed=needed)

    def held(self, count_D: Ints) -> list[Run]:
        """A run per seed, if the SLA holds in all of them; else none."""
        runs = self._runs(count_D)
        if runs and self.n_plus_one:
            for device in np.flatnonzero(count_D):
                less_D = count_D.copy()
                less_D[device] -= 1
                if self.cut(less_D) is not None or not self._runs(less_D):
                    return []
        return runs

    def _runs(self, count_D: Ints) -> list[Run]:
        fleet = with_replicas(self.plan, count_D.tolist())
        if fleet is None:
            return []
        tables, runs = compile_paths(fleet), []
        for offset in range(self.seeds):
            trial = draw_trial(replace(fleet, seed=fleet.seed + offset), self.queries, tables)
            try:
                run = trial.serve(self.policy, fleet.workload.qps)
            except UnknownNameError:
                # The policy names a path that went with its device.
                return []
            if not trial.is_held(run):
                return []
            runs.append(run)
        return runs

    def why_none(self, most: int) -> str:
        """What the largest combination comes to."""
        fleet = with_replicas(self.plan, [most] * len(self.plan.devices)) or self.plan
        seeded = [replace(fleet, seed=fleet.seed + offset) for offset in range(self.seeds)]
        of_seeds = [search_capacity(draw_trial(one, self.queries), self.policy, 0.01) for one in seeded]
        found = min(of_seeds, key=lambda one: one.max_qps)
        down, replicas = " with any one down" if self.n_plus_one else "", format_items(most, "replica")
        sustained = f"with {replicas} of each device the SLA holds up to {found.max_qps:,.0f} queries/s for every seed"
        if found.max_qps >= self.plan.workload.qps and not down:
            sustained += ", but not at this rate"
        return f"no combination of up to {replicas} holds it{down}; {found.note or sustained}"


def _started(plan: Plan, policy: Policy, *, queries: int, seeds: int, n_plus_one: bool) -> _Search:
    trial = draw_trial(plan, queries)
    rule = policy.compile(routing_context(plan, trial.mean_samples))
    paths = cheapest_paths(trial.tables.arrays, rule, event_plan(plan, rule))
    # Without some of the devices, a policy that routes may turn to paths that it does not take now.
    used_P = rule.path_E[:1] if rule.kind == FIXED else np.arange(len(plan.paths))
    return _Search(
        plan=plan,
        policy=policy,
        queries=queries,
        seeds=seeds,
        n_plus_one=n_plus_one,
        rows=collect_rows(trial.chunk, 0, queries, paths),
        used_P=used_P,
        served_share=served_share_of(rule, plan.workload.percentile, queries),
    )


def _by_cost(devices: Sequence[Device], most: int) -> Ints:
    """All combinations but the empty one, the cheapest first, of equal ones that of fewest replicas."""
    count_MD = np.array(list(product(range(most + 1), repeat=len(devices))), dtype=np.int64)[1:]
    price_M = np.array([_price(devices, count_D.tolist()) or 0.0 for count_D in count_MD])
    return count_MD[np.lexsort((count_MD.sum(axis=1), price_M))]


def _price(devices: Sequence[Device], counts: Sequence[int]) -> float | None:
    """Per hour; None where a device has no price."""
    prices = [device.price_per_hour for device in devices if device.price_per_hour is not None]
    if len(prices) < len(devices):
        return None
    return float(sum(price * count for price, count in zip(prices, counts, strict=True)))


def _times(device: Device, count: int) -> Device:
    servers = device.servers * count
    if servers > MOST_SERVERS:
        raise InputError(f"most: {count} replicas of {device.name} have more than {MOST_SERVERS} servers")
    return replace(
        device,
        servers=servers,
        price_per_hour=_scaled(device.price_per_hour, count),
        busy_w=_scaled(device.busy_w, count),
        idle_w=_scaled(device.idle_w, count),
        memory_bytes=None if device.memory_bytes is None else device.memory_bytes * count,
    )


def _scaled(value: float | None, count: int) -> float | None:
    return None if value is None else value * count


def _described(
    search: _Search, count_D: Ints, runs: Sequence[Run], *, most: int, tried: int, ruled_out: int
) -> DevicesNeeded:
    figures = [figures_at(run, max_qps=search.plan.workload.qps, highest_qps=0.0) for run in runs]
    in_sla_per_s = fmean(one.in_sla_per_s for one in figures)
    cost = _price(search.plan.devices, count_D.tolist())
    return DevicesNeeded(
        policy=policy_label(search.policy),
        qps=search.plan.workload.qps,
        replicas={one.name: int(count) for one, count in zip(search.plan.devices, count_D, strict=True)},
        most=most,
        n_plus_one=search.n_plus_one,
        cost_per_hour=cost,
        cost_per_million_correct=cost / SECONDS_PER_HOUR / in_sla_per_s * 1e6 if cost is not None else None,
        correct_predictions_in_sla_per_s=in_sla_per_s,
        accuracy=fmean(one.accuracy for one in figures),
        tried=tried,
        ruled_out=ruled_out,
        note="" if cost is not None else "a device has no price: the fewest replicas were sought",
    )


def _none(search: _Search, *, most: int, tried: int, ruled_out: int) -> DevicesNeeded:
    return DevicesNeeded(
        policy=policy_label(search.policy),
        qps=search.plan.workload.qps,
        replicas={},
        most=most,
        n_plus_one=search.n_plus_one,
        cost_per_hour=None,
        cost_per_million_correct=None,
        correct_predictions_in_sla_per_s=0.0,
        accuracy=0.0,
        tried=tried,
        ruled_out=ruled_out,
        note=search.why_none(most),
    )
