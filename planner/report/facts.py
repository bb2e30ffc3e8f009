"""What the serving runs say, per policy, in the form that the answer is composed from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.report.blocks import Row
from planner.report.cells import format_rate
from planner.report.inputs import ServingInputs
from planner.report.provenance import Provenance, weakest
from profiles.units import SECONDS_PER_HOUR, format_ms
from serving_sim.plan import Device, Path, Plan, plan_from_object

__all__ = ["Facts", "PathFacts", "PolicyFacts", "SlaFacts", "best_policy", "serving_facts"]

_TAIL_KEYS: Mapping[float, str] = {50.0: "p50", 95.0: "p95", 99.0: "p99", 99.9: "p999"}
_DEFAULT_TAIL = 99.0
_DEFAULT_CONFIDENCE = 0.95
# Relative differences below this are within the noise of simulation and of training.
_SAME_CORRECT = 0.005
_MUCH_CAPACITY = 2.0
_WHOLE_SHARE = 0.999


@dataclass(frozen=True, kw_only=True, slots=True)
class PathFacts:
    """A path that a policy used, and which share of the queries it took."""

    name: str
    representation: str
    device: str
    share: float
    provenance: Provenance
    auc: float | None = None

    @property
    def title(self) -> str:
        """How sentences call it."""
        return f"{self.representation} on {self.device}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyFacts:
    """One policy at the workload's load. `tail_ms` is the latency at the facts' `tail` percentile.

    `paths` are those it used at this load, the most used first, `reach` all that it may use: its capacity rests on
    them. `price_per_hour` sums over the devices of `reach`, None where one of them has no price. Where it is
    `overloaded`, its latency and its late queries grow with the length of the run. `ci_low` to `ci_high` is what the
    queries drawn leave open, `table_low` to `table_high` what the latencies' error bars do; `spare_qps` is the
    capacity with `spare_device` down, the one whose loss costs most.
    """

    label: str
    static: bool
    holds: bool
    tail_ms: float
    violation_share: float
    accuracy: float
    correct_in_sla_per_s: float
    paths: tuple[PathFacts, ...]
    max_qps: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    price_per_hour: float | None = None
    reach: tuple[PathFacts, ...] = ()
    overloaded: bool = False
    table_low: float | None = None
    table_high: float | None = None
    spare_qps: float | None = None
    spare_device: str = ""

    @property
    def provenance(self) -> Provenance:
        """A simulated figure is at best predicted, and estimated where an estimated path took part."""
        return weakest(("predicted", *(path.provenance for path in self.paths)))

    @property
    def capacity_provenance(self) -> Provenance:
        """Its capacity also rests on paths that this load did not need."""
        return weakest((self.provenance, *(path.provenance for path in self.reach)))

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that have to be there for it."""
        return tuple(sorted({path.device for path in self.reach or self.paths}))

    @property
    def sole_path(self) -> str | None:
        """The path that takes all queries but for 0.1 % at most, if there is one."""
        return self.paths[0].name if self.paths and self.paths[0].share >= _WHOLE_SHARE else None

    @property
    def tail_text(self) -> str:
        """The tail latency; of an overloaded policy, which has none, the load that it could carry."""
        if not self.overloaded:
            return format_ms(self.tail_ms)
        return "overloaded" if self.max_qps is None else f"overloaded (capacity {format_rate(self.max_qps)} queries/s)"

    def has_much_more_capacity(self, other: "PolicyFacts") -> bool:
        """More than twice the other's, as far as both are known."""
        return None not in (self.max_qps, other.max_qps) and (self.max_qps or 0) > _MUCH_CAPACITY * (other.max_qps or 0)

    @property
    def estimated_devices(self) -> tuple[str, ...]:
        """Devices that were used and never measured."""
        return tuple(sorted({path.device for path in self.paths if path.provenance == "estimated"}))

    @property
    def title(self) -> str:
        """A static policy is called by its path, a routing one by its name."""
        return self.paths[0].title if self.static and self.paths else self.label


@dataclass(frozen=True, kw_only=True, slots=True)
class SlaFacts:
    """A policy at the plan's load under another SLA."""

    label: str
    sla_ms: float
    violation_share: float
    holds: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """The load, and every policy at it."""

    qps: float
    sla_ms: float
    percentile: float
    tail: float
    samples_per_query: float
    policies: tuple[PolicyFacts, ...]
    confidence: float = _DEFAULT_CONFIDENCE
    unpriced: tuple[str, ...] = ()
    slas: tuple[SlaFacts, ...] = ()
    largest_query: int | None = None

    def cost_per_million(self, policy: PolicyFacts) -> float | None:
        """Price of a million predictions at this load: the devices' price over the samples served meanwhile."""
        if policy.price_per_hour is None:
            return None
        return policy.price_per_hour / (self.qps * self.samples_per_query * SECONDS_PER_HOUR) * 1e6


def serving_facts(plan_object: Mapping[str, Any], serving: ServingInputs) -> Facts:
    """The facts in the simulations and the capacity search.

    Raises:
        InputError: the plan or a simulation does not fit its format.
    """
    plan = plan_from_object(plan_object)
    load = plan.workload
    tail = load.percentile if load.percentile in _TAIL_KEYS else _DEFAULT_TAIL
    capacity = serving.capacity or {}
    found = {row["policy"]: row for row in capacity.get("policies", ())}
    return Facts(
        qps=load.qps,
        sla_ms=load.sla_ms,
        percentile=load.percentile,
        tail=tail,
        samples_per_query=load.sizes.mean,
        policies=tuple(_policy(plan, row, found.get(row["policy"], {}), tail) for row in serving.simulations),
        confidence=capacity.get("confidence", _DEFAULT_CONFIDENCE),
        unpriced=tuple(device.name for device in plan.devices if device.price_per_hour is None),
        largest_query=load.sizes.maximum,
        slas=tuple(_sla(row, 1 - load.percentile / 100) for row in serving.slas),
    )


def best_policy(policies: tuple[PolicyFacts, ...]) -> PolicyFacts | None:
    """Among those that hold the SLA, the one with the most correct predictions in it, then the greater capacity.

    A lead below 0.5 % in correct predictions is within the noise: it does not beat more than twice the capacity. A
    policy that sends all but 0.1 % of the queries down one path gives way to that path's static policy, where that
    holds. Where none holds, the one that violates least; None where there are none.
    """
    first = best = max(policies, key=_merit, default=None)
    if first is None or best is None or not first.holds:
        return first
    level = [
        policy
        for policy in policies
        if policy.holds and policy.correct_in_sla_per_s >= (1 - _SAME_CORRECT) * first.correct_in_sla_per_s
    ]
    while stronger := [policy for policy in level if policy.has_much_more_capacity(best)]:
        best = max(stronger, key=_merit)
    return _as_static(best, policies)


def _as_static(best: PolicyFacts, policies: tuple[PolicyFacts, ...]) -> PolicyFacts:
    if best.static or best.sole_path is None:
        return best
    twins = (policy for policy in policies if policy.static and policy.holds and policy.sole_path == best.sole_path)
    return next(twins, best)


def _merit(policy: PolicyFacts) -> tuple[bool, float, float]:
    if not policy.holds:
        return False, -policy.violation_share, policy.correct_in_sla_per_s
    # Four digits: below that, simulations of a hundred thousand queries do not tell policies apart.
    return True, float(f"{policy.correct_in_sla_per_s:.4g}"), policy.max_qps or 0.0


def _policy(plan: Plan, row: Row, found: Row, tail: float) -> PolicyFacts:
    paths = {path.name: path for path in plan.paths}
    used = [_path(paths[part["name"]], part["share"]) for part in row["paths"] if part["share"] > 0]
    static = bool(row.get("static", False))
    shares = {path.name: path.share for path in used}
    spare = found.get("n_plus_one") or {}
    # A routing policy may turn to any path when the load grows.
    reach = used if static else [_path(path, shares.get(path.name, 0.0)) for path in plan.paths]
    return PolicyFacts(
        label=row["policy"],
        static=static,
        holds=row["sla_violation_share"] <= 1 - plan.workload.percentile / 100,
        tail_ms=_or_nan(row["latency_ms"][_TAIL_KEYS[tail]]),
        violation_share=row["sla_violation_share"],
        accuracy=row["accuracy"],
        correct_in_sla_per_s=row["correct_predictions_in_sla_per_s"],
        paths=tuple(sorted(used, key=lambda path: -path.share)),
        max_qps=found.get("max_qps"),
        ci_low=found.get("ci_low"),
        ci_high=found.get("ci_high"),
        price_per_hour=_price([device for device in plan.devices if device.name in {path.device for path in reach}]),
        reach=tuple(reach),
        overloaded=row.get("verdict") == "overloaded",
        table_low=found.get("table_low"),
        table_high=found.get("table_high"),
        spare_qps=spare.get("max_qps"),
        spare_device=spare.get("device", ""),
    )


def _or_nan(latency_ms: float | None) -> float:
    """A run that served nothing has no latency."""
    return math.nan if latency_ms is None else latency_ms


def _sla(row: Row, allowed_share: float) -> SlaFacts:
    share = float(row["violation_share"])
    return SlaFacts(
        label=row["policy"], sla_ms=float(row["sla_ms"]), violation_share=share, holds=share <= allowed_share
    )


def _path(path: Path, share: float) -> PathFacts:
    return PathFacts(
        name=path.name,
        representation=path.representation,
        device=path.device,
        share=share,
        provenance=weakest((path.provenance,)),
        auc=path.auc,
    )


def _price(devices: list[Device]) -> float | None:
    prices = [device.price_per_hour for device in devices]
    known = [price for price in prices if price is not None]
    return sum(known) if known and len(known) == len(prices) else None
