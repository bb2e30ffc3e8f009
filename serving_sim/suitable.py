"""Which policies can serve a plan at all."""

from collections.abc import Iterable
from typing import TypeVar

from profiles.errors import InputError
from serving_sim.engine import SimulationOptions, start_simulation
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike

__all__ = ["suitable_policies", "why_unsuitable"]

P = TypeVar("P", bound=PolicyLike)


def suitable_policies(plan: Plan, policies: Iterable[P]) -> tuple[P, ...]:
    """Those of the policies that no complaint keeps from serving the plan, in their order.

    Some loops cannot follow all that a plan may say (say parts of a query, where paths have shards).
    """
    return tuple(policy for policy in policies if why_unsuitable(plan, policy) is None)


def why_unsuitable(plan: Plan, policy: PolicyLike) -> str | None:
    """The complaint that keeps the policy from serving the plan; none where it can."""
    try:
        start_simulation(plan.at(queries=1), policy=policy, options=SimulationOptions(fluid_bound=False))
    except InputError as complaint:
        return str(complaint)
    return None
