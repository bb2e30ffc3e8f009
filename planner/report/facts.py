"""What the serving runs say, per policy, in the form that the answer is composed from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.report.blocks import Row
from planner.report.inputs import ServingInputs
from planner.report.provenance import Provenance, weakest
from profiles.units import SECONDS_PER_HOUR
from serving_sim.plan import Device, Path, Plan, plan_from_object

__all__ = ["Facts", "PathFacts", "PolicyFacts", "SlaFacts", "best_policy", "serving_facts"]

_TAIL_KEYS: Mapping[float, str] = {50.0: "p50", 95.0: "p95", 99.0: "p99", 99.9: "p999"}
_DEFAULT_TAIL = 99.0
_DEFAULT_CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class PathFacts:
    """A path that a policy used, and which share of the queries it took."""

    name: str
    representation: str
    device: str
    share: float
    provenance: Provenance

    @property
    def title(self) -> str:
        """How sentences call it."""
        return f"{self.representation} on {self.device}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyFacts:
    """One policy at the workload's load. `tail_ms` is the latency at the facts' `tail` percentile.

    `price_per_hour` sums over the devices it used, None where one of them has no price.
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

    @property
    def provenance(self) -> Provenance:
        """A simulated figure is at best predicted, and estimated where an estimated path took part."""
        return weakest(("predicted", *(path.provenance for path in self.paths)))

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

    def cost_per_million(self, policy: PolicyFacts) -> float | None:
        """Price of a million predictions at this load: the used devices' price over the samples served meanwhile."""
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
        slas=tuple(_sla(row, 1 - load.percentile / 100) for row in serving.slas),
    )


def best_policy(policies: tuple[PolicyFacts, ...]) -> PolicyFacts | None:
    """Among those that hold the SLA, the one with the most correct predictions in it, then the greater capacity.

    Where none holds, the one that violates least; None where there are none.
    """
    return max(policies, key=_merit, default=None)


def _merit(policy: PolicyFacts) -> tuple[bool, float, float]:
    if not policy.holds:
        return False, -policy.violation_share, policy.correct_in_sla_per_s
    # Four digits: below that, simulations of a hundred thousand queries do not tell policies apart.
    return True, float(f"{policy.correct_in_sla_per_s:.4g}"), policy.max_qps or 0.0


def _policy(plan: Plan, row: Row, found: Row, tail: float) -> PolicyFacts:
    paths = {path.name: path for path in plan.paths}
    used = [_path(paths[part["name"]], part["share"]) for part in row["paths"] if part["share"] > 0]
    return PolicyFacts(
        label=row["policy"],
        static=bool(row.get("static", False)),
        holds=row["sla_violation_share"] <= 1 - plan.workload.percentile / 100,
        tail_ms=row["latency_ms"][_TAIL_KEYS[tail]],
        violation_share=row["sla_violation_share"],
        accuracy=row["accuracy"],
        correct_in_sla_per_s=row["correct_predictions_in_sla_per_s"],
        paths=tuple(sorted(used, key=lambda path: -path.share)),
        max_qps=found.get("max_qps"),
        ci_low=found.get("ci_low"),
        ci_high=found.get("ci_high"),
        price_per_hour=_price([device for device in plan.devices if device.name in {path.device for path in used}]),
    )


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
    )


def _price(devices: list[Device]) -> float | None:
    prices = [device.price_per_hour for device in devices]
    known = [price for price in prices if price is not None]
    return sum(known) if known and len(known) == len(prices) else None
