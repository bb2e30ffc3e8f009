"""Our plans and torchrec's side by side: on torchrec's costs, and by the iteration that each would take."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from planner.distributed.constraints import TableConstraint
from planner.distributed.interop.topology import Constants
from planner.distributed.interop.torchrec_costs import TorchrecCosts
from planner.distributed.iteration.model import predict_iteration
from planner.distributed.plan import ShardingPlan
from planner.distributed.sharding import plan_sharding, price_placements
from planner.distributed.whatif import Scenario

__all__ = ["PlannerRow", "compare_with_torchrec"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannerRow:
    """One planner's plan.

    `torchrec_ms` is its slowest rank on torchrec's costs, None where it holds shards that torchrec has no cost for;
    `torchrec_over_bound` is that over what no plan beats on these costs, `max_over_mean` over its own mean rank.
    """

    planner: str
    plan_seconds: float
    torchrec_ms: float | None
    torchrec_over_bound: float | None
    max_over_mean: float | None
    iteration_ms: float
    qps: float

    def to_object(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def compare_with_torchrec(
    scenario: Scenario,
    plan: ShardingPlan,
    *,
    constraints: Sequence[TableConstraint] = (),
    constants: Constants = "cluster",
    timeout_s: int | None = None,
) -> tuple[PlannerRow, ...]:
    """The plan, our search on torchrec's costs, and torchrec's own planner (which knows no such constraints).

    Raises:
        InfeasibleError: torchrec, or our search on its costs, finds no plan.
    """
    from planner.distributed.interop.rival import plan_with_torchrec

    job, cluster = scenario.job, scenario.cluster
    costs = TorchrecCosts(constants=constants)
    ours = plan_sharding(job.tables, cluster, batch_per_rank=job.batch_per_rank, constraints=constraints, costs=costs)
    theirs = plan_with_torchrec(
        job.tables, cluster, batch_per_rank=job.batch_per_rank, constants=constants, timeout_s=timeout_s
    )
    named = {"recplan": plan, "recplan on torchrec's costs": ours, "torchrec": theirs}
    return tuple(_row(name, one, scenario, costs, ours.lower_bound_ms) for name, one in named.items())


def _row(name: str, plan: ShardingPlan, scenario: Scenario, costs: TorchrecCosts, bound_ms: float) -> PlannerRow:
    rank_ms = price_placements(plan.placements, plan.cluster, batch_per_rank=plan.batch_per_rank, costs=costs)
    slowest_ms, mean_ms = float(rank_ms.max()), float(rank_ms.mean())
    known = math.isfinite(slowest_ms)
    time = predict_iteration(scenario.job, plan)
    return PlannerRow(
        planner=name,
        plan_seconds=plan.plan_seconds,
        torchrec_ms=slowest_ms if known else None,
        torchrec_over_bound=slowest_ms / bound_ms if known and bound_ms else None,
        max_over_mean=slowest_ms / mean_ms if known and mean_ms else None,
        iteration_ms=time.iteration_ms,
        qps=time.qps,
    )
