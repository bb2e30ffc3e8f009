"""Policies: which path a query takes. `POLICIES` names them; `serving_sim.testing.PolicyContract` tests one."""

from profiles.edge import parse_object
from profiles.registry import Registry
from profiles.units import MS_PER_S
from serving_sim.plan import Plan, PolicyChoice
from serving_sim.policies.mp_rec import PREDICATES, MpRec
from serving_sim.policies.policy import Entry, Policy, RoutingContext, fixed_rule, table_paths, tiered_rule
from serving_sim.policies.static import Static
from serving_sim.policies.table_switch import TableSwitch

__all__ = [
    "POLICIES",
    "PREDICATES",
    "Entry",
    "MpRec",
    "Policy",
    "RoutingContext",
    "Static",
    "TableSwitch",
    "as_choice",
    "choose_policy",
    "fixed_rule",
    "routing_context",
    "table_paths",
    "tiered_rule",
]

POLICIES: Registry[type[Policy]] = Registry("policy")
for _policy in (Static, TableSwitch, MpRec):
    POLICIES.register(_policy.name, _policy)


def as_choice(policy: "str | PolicyChoice") -> PolicyChoice:
    """A policy's bare name as the choice of it with default options."""
    return PolicyChoice(name=policy) if isinstance(policy, str) else policy


def choose_policy(choice: PolicyChoice) -> Policy:
    """The policy that a plan chooses, with its options.

    Raises:
        InputError: the name or an option is not known, or an option's value is wrong; names the key.
    """
    return parse_object(POLICIES.get(choice.name), choice.options, "policy.options")


def routing_context(plan: Plan) -> RoutingContext:
    """What policies may know of a plan."""
    load = plan.workload
    return RoutingContext(
        paths=plan.paths,
        servers_of_path=tuple(plan.devices[plan.device_of(path)].servers for path in plan.paths),
        sla_ms=load.sla_ms,
        offered_samples_per_ms=load.qps * load.sizes.mean / MS_PER_S,
    )
