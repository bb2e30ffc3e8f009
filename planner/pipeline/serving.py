"""Serve a plan in simulation, under every policy that the report compares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.progress import Progress
from planner.report import ServingInputs
from planner.report.blocks import Rows
from planner.report.facts import best_policy, serving_facts
from serving_sim.capacity import CapacityResult, find_capacity
from serving_sim.charts import latency_frame, path_share_frame
from serving_sim.charts_cost import cost_frame
from serving_sim.charts_load import BOUND, load_over_qps
from serving_sim.charts_queue import queue_frame
from serving_sim.engine import simulate
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Path, Plan, PolicyChoice
from serving_sim.policies import as_policy, policy_label
from serving_sim.policies.mp_rec import FINISH_IN_SLA
from serving_sim.policies.policy import TABLE
from serving_sim.suitable import suitable_policies

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Serving", "best_static", "compared_policies", "other_slas", "serve_plan"]

_RATES = 12
# A path that hardly holds the SLA at all must not draw the others' rates together.
_LOWEST_RATE = 0.02
_SLA_FACTORS = (0.1, 0.2, 0.35, 0.5, 0.7, 1.5, 2.0, 3.0, 5.0, 10.0)
_CAPACITY_QUERIES = 50_000
_SPARE_SEEDS = 3
_SWEEP_QUERIES = 50_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """The plan under load, per policy label: metrics at its load, under other SLAs, capacity, and a sweep over rates.

    `best` is the label of the policy that the report recommends, `policy` the policy itself.
    """

    results: Mapping[str, SimulationResult]
    slas: Rows
    capacity: CapacityResult
    load: "pl.DataFrame"
    best: str
    policy: PolicyChoice

    def to_inputs(self) -> ServingInputs:
        """What the report needs of it."""
        return ServingInputs(
            simulations=simulation_rows(self.results),
            capacity={**self.capacity.to_object(), "confidence": 0.95},
            slas=self.slas,
            latency=tuple(latency_frame(self.results).to_dicts()),
            path_share=tuple(path_share_frame(self.results[self.best]).to_dicts()),
            path_share_policy=self.best,
            violations=tuple(self._late_rows().to_dicts()),
            load=tuple(self.load.to_dicts()),
            queue=tuple(queue_frame(self.results[self.best]).to_dicts()),
            cost=tuple(cost_frame(self.results).to_dicts()),
        )

    def _late_rows(self) -> "pl.DataFrame":
        return self.load.filter(self.load["policy"] != BOUND).select("policy", "qps", "violation_share", "verdict")


def simulation_rows(results: Mapping[str, SimulationResult]) -> Rows:
    """The metrics of each policy, with whether it serves every query on one path."""
    return tuple({**result.to_object(), "static": label.startswith("static")} for label, result in results.items())


def best_static(plan: Plan, paths: Sequence[Path]) -> PolicyChoice:
    """The one of these paths that serves the most correct predictions within the SLA at the plan's load.

    Where the load is too much for all of them, late ones count too: the few in time tell of the run's first moments.
    """

    def worth(path: str) -> tuple[bool, float]:
        result = simulate(plan, policy=PolicyChoice(name="static", options={"path": path}))
        if result.verdict == "overloaded":
            return False, result.correct_predictions_per_s
        return True, result.correct_predictions_in_sla_per_s

    path = max((path.name for path in paths), key=worth)
    return PolicyChoice(name="static", options={"path": path})


def compared_policies(plan: Plan) -> tuple[PolicyChoice, ...]:
    """The plan's own policy, MP-Rec under both of its tests, headroom, table switching where there are tables, the best
    path; `headroom` only where it can serve the plan.

    Where that path's latency is an estimate, the best of the others stands beside it.
    """
    wanted = [
        plan.policy,
        PolicyChoice(name="mp-rec"),
        PolicyChoice(name="mp-rec", options={"predicate": FINISH_IN_SLA}),
        *suitable_policies(plan, (PolicyChoice(name="headroom"),)),
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
        stage.update(2, note="policies over load")
        short = plan.at(queries=min(plan.workload.queries, _SWEEP_QUERIES))
        load = load_over_qps(short, policies, _rates(plan, capacity))
        stage.update(3)
    labelled = {result.policy: result for result in results}
    found = ServingInputs(simulations=simulation_rows(labelled), capacity=capacity.to_object())
    best = best_policy(serving_facts(plan.to_object(), found).policies)
    label = best.label if best else results[0].policy
    choice = next(policy for policy in policies if policy_label(as_policy(policy)) == label)
    return Serving(
        results=labelled,
        slas=other_slas(short, choice),
        capacity=_with_spare(plan, capacity, choice),
        load=load,
        best=label,
        policy=choice,
    )


def _with_spare(plan: Plan, capacity: CapacityResult, policy: PolicyChoice) -> CapacityResult:
    """The same with what that policy has left with a device down, where there are several."""
    if len(plan.devices) == 1:
        return capacity
    own = find_capacity(
        plan, [policy], queries=_CAPACITY_QUERIES, seeds=_SPARE_SEEDS, n_plus_one=True, table_errors=False
    ).policies[0]
    rows = (replace(one, n_plus_one=own.n_plus_one) if one.policy == own.policy else one for one in capacity.policies)
    return replace(capacity, policies=tuple(rows))


def other_slas(plan: Plan, policy: PolicyChoice) -> Rows:
    """The policy at the plan's load under tighter and looser SLAs: a routing policy routes otherwise under each."""
    slas_ms = [plan.workload.sla_ms * factor for factor in _SLA_FACTORS]
    results = [simulate(plan, policy=policy, sla_ms=sla_ms) for sla_ms in slas_ms]
    return tuple(
        {"policy": result.policy, "sla_ms": result.sla_ms, "violation_share": result.sla_violation_share}
        for result in results
    )


def _rates(plan: Plan, capacity: CapacityResult) -> list[float]:
    """Rates from well below the plan's load to above every policy's capacity."""
    found = [policy.max_qps for policy in capacity.policies if policy.max_qps]
    highest = max([plan.workload.qps, *found]) * 1.3
    lowest = max(min([plan.workload.qps, *found]) * 0.5, highest * _LOWEST_RATE)
    return [float(f"{rate:.3g}") for rate in np.geomspace(lowest, highest, _RATES)]
