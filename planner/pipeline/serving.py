"""Serve a plan in simulation, under every policy that the report compares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.progress import Progress
from serving_sim.capacity import CapacityResult, find_capacity
from serving_sim.charts import violations_over_qps
from serving_sim.engine import simulate
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Path, Plan, PolicyChoice
from serving_sim.policies import as_policy, policy_label
from serving_sim.policies.mp_rec import FINISH_IN_SLA
from serving_sim.policies.policy import TABLE

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Serving", "best_static", "compared_policies", "serve_plan"]

_RATES = 12
_CAPACITY_QUERIES = 50_000
_SWEEP_QUERIES = 50_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """The plan under load, per policy label: metrics at the plan's load, capacity, and violations over rates."""

    results: Mapping[str, SimulationResult]
    capacity: CapacityResult
    violations: "pl.DataFrame"

    @property
    def best(self) -> str:
        """The label with the most correct predictions in the SLA among those that hold it, else fewest violations."""
        allowed = 1 - self.capacity.percentile / 100
        rates = {row.policy: row.max_qps for row in self.capacity.policies}

        def merit(label: str) -> tuple[bool, float, float]:
            result = self.results[label]
            holds = result.sla_violation_share <= allowed
            in_sla = float(f"{result.correct_predictions_in_sla_per_s:.4g}")
            return holds, in_sla if holds else -result.sla_violation_share, rates.get(label, 0.0)

        return max(self.results, key=merit)


def best_static(plan: Plan, paths: Sequence[Path]) -> PolicyChoice:
    """The one of these paths that serves the most correct predictions within the SLA at the plan's load."""

    def correct_in_sla(path: str) -> float:
        policy = PolicyChoice(name="static", options={"path": path})
        return simulate(plan, policy=policy).correct_predictions_in_sla_per_s

    path = max((path.name for path in paths), key=correct_in_sla)
    return PolicyChoice(name="static", options={"path": path})


def compared_policies(plan: Plan) -> tuple[PolicyChoice, ...]:
    """The plan's own policy, MP-Rec under both of its tests, table switching where there are tables, the best path.

    Where that path's latency is an estimate, the best of the others stands beside it.
    """
    wanted = [
        plan.policy,
        PolicyChoice(name="mp-rec"),
        PolicyChoice(name="mp-rec", options={"predicate": FINISH_IN_SLA}),
    ]
    if any(path.representation == TABLE for path in plan.paths):
        wanted.append(PolicyChoice(name="table-switch"))
    known = [path for path in plan.paths if path.provenance != "estimated"]
    wanted += [best_static(plan, paths) for paths in (plan.paths, known) if paths]
    distinct = {policy_label(as_policy(policy)): policy for policy in wanted}
    return tuple(distinct.values())


def serve_plan(plan: Plan, progress: Progress) -> Serving:
    """Simulate the plan under each compared policy, find each one's capacity, and sweep the rate past all of them."""
    policies = compared_policies(plan)
    with progress.stage(f"simulating {len(policies)} policies", 3) as stage:
        results = [simulate(plan, policy=policy) for policy in policies]
        stage.update(1, note="capacity")
        capacity = find_capacity(plan, policies, queries=_CAPACITY_QUERIES)
        stage.update(2, note="violations over load")
        short = plan.at(queries=min(plan.workload.queries, _SWEEP_QUERIES))
        violations = violations_over_qps(short, policies, _rates(plan, capacity))
        stage.update(3)
    labelled = {result.policy: result for result in results}
    return Serving(results=labelled, capacity=capacity, violations=violations)


def _rates(plan: Plan, capacity: CapacityResult) -> list[float]:
    """Rates from well below the plan's load to above every policy's capacity."""
    found = [policy.max_qps for policy in capacity.policies if policy.max_qps]
    highest = max([plan.workload.qps, *found]) * 1.3
    lowest = min([plan.workload.qps, *found]) * 0.5
    return [float(f"{rate:.3g}") for rate in np.geomspace(lowest, highest, _RATES)]
