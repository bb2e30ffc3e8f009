"""Which policies can serve a plan at all."""

from collections.abc import Iterable
from typing import TypeVar

from profiles.errors import InputError
from serving_sim.engine import SimulationOptions, start_simulation
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike

__all__ = ["suitable_policies"]

P = TypeVar("P", bound=PolicyLike)


def suitable_policies(plan: Plan, policies: Iterable[P]) -> tuple[P, ...]:
    """Those of the policies that no complaint keeps from serving the plan, in their order.

    Some loops cannot follow all that a plan may say (say a price of device time, where a server is slow after idling).
    """
    return tuple(policy for policy in policies if _is_suitable(plan.at(queries=1), policy))


def _is_suitable(plan: Plan, policy: PolicyLike) -> bool:
    try:
        start_simulation(plan, policy=policy, options=SimulationOptions(fluid_bound=False))
    except InputError:
        return False
    return True
