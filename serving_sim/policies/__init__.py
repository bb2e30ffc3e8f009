"""Policies: which path a query takes. `POLICIES` names them; `serving_sim.testing.PolicyContract` tests one."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import TypeAlias

import numpy as np

from profiles.edge import parse_object
from profiles.errors import InputError, UnknownNameError
from profiles.registry import Registry
from profiles.units import MS_PER_S
from serving_sim.kernels import Rule
from serving_sim.plan import Plan, PolicyChoice
from serving_sim.policies.accuracy_floor import AccuracyFloor
from serving_sim.policies.batching import Batching
from serving_sim.policies.headroom import Headroom
from serving_sim.policies.mp_rec import PREDICATES, MpRec
from serving_sim.policies.policy import (
    Entry,
    Policy,
    RoutingContext,
    batched_rule,
    fixed_rule,
    priced_rule,
    split_rule,
    table_paths,
    tiered_rule,
)
from serving_sim.policies.split import Split
from serving_sim.policies.static import Static
from serving_sim.policies.table_switch import TableSwitch
from serving_sim.reliability import closed_paths
from serving_sim.sizes import mean_load_size

__all__ = [
    "POLICIES",
    "PREDICATES",
    "AccuracyFloor",
    "Batching",
    "Entry",
    "Headroom",
    "MpRec",
    "Policy",
    "PolicyLike",
    "RoutingContext",
    "Split",
    "Static",
    "TableSwitch",
    "as_policy",
    "batched_rule",
    "compile_rule",
    "fixed_rule",
    "named_policies",
    "policy_label",
    "priced_rule",
    "routing_context",
    "split_rule",
    "table_paths",
    "tiered_rule",
]

PolicyLike: TypeAlias = str | PolicyChoice | Policy

POLICIES: Registry[type[Policy]] = Registry("policy", entry_point_group="recplan.policies")
for _policy in (Static, TableSwitch, AccuracyFloor, MpRec, Headroom, Split, Batching):
    POLICIES.register(_policy.name, _policy)


def as_policy(policy: PolicyLike) -> Policy:
    """The policy that a name, a plan's choice with options, or a policy itself stands for.

    Raises:
        InputError: the name or an option is not known, or an option's value is wrong; names the key.
    """
    if isinstance(policy, str):
        policy = PolicyChoice(name=policy)
    if isinstance(policy, PolicyChoice):
        kind = POLICIES.get(policy.name)
        _require_known(policy.name, policy.options, [option.name for option in fields(kind)])
        return parse_object(kind, policy.options, "policy.options")
    return policy


def named_policies(names: Sequence[str], choice: PolicyChoice, given: Iterable[str] = ()) -> tuple[Policy, ...]:
    """The policies of those names, each with the options that a plan's choice has for it.

    `given` are the options that were set for this run; one that no policy takes is an error, others are left out.

    Raises:
        InputError: a name or a given option is not known, or an option's value is wrong; names the key.
    """
    known = {name: [option.name for option in fields(POLICIES.get(name))] for name in names}
    taken = sorted({option for options in known.values() for option in options})
    _require_known(", ".join(names), given, taken)
    return tuple(
        as_policy(
            PolicyChoice(name=name, options={key: choice.options[key] for key in known[name] if key in choice.options})
        )
        for name in names
    )


def _require_known(policies: str, options: Iterable[str], known: Collection[str]) -> None:
    for option in options:
        if option not in known:
            raise UnknownNameError(f"policy.options of {policies}", option, known)


def policy_label(policy: Policy) -> str:
    """Name and the options that differ from their defaults: `mp-rec (predicate=finish-in-sla)`."""
    changed = [
        f"{option.name}={getattr(policy, option.name)}"
        for option in fields(policy)
        if getattr(policy, option.name) != option.default
    ]
    return f"{policy.name} ({', '.join(changed)})" if changed else policy.name


def compile_rule(policy: Policy, plan: Plan, mean_samples: float | None = None) -> Rule:
    """The policy's rule for the plan; it is not told of paths that need a device which failed.

    Raises:
        InputError: no path is left, or what the policy raises.
    """
    closed = closed_paths(plan)
    if not closed:
        return policy.compile(routing_context(plan, mean_samples))
    left = [place for place, path in enumerate(plan.paths) if path.name not in closed]
    if not left:
        raise InputError("devices: no path is left without those whose state is failed")
    working = replace(plan, paths=tuple(plan.paths[place] for place in left))
    rule = policy.compile(routing_context(working, mean_samples))
    return rule._replace(path_E=np.array(left, dtype=np.int64)[rule.path_E])


def routing_context(plan: Plan, mean_samples: float | None = None) -> RoutingContext:
    """What policies may know of a plan. `mean_samples` saves working out the mean size of its queries again."""
    mean_samples = mean_load_size(plan.workload) if mean_samples is None else mean_samples
    load = plan.workload
    return RoutingContext(
        paths=plan.paths,
        servers_of_path=tuple(plan.devices[plan.device_of(path)].servers for path in plan.paths),
        sla_ms=load.sla_ms,
        offered_samples_per_ms=load.qps * mean_samples / MS_PER_S,
        class_slas_ms=tuple(one.sla_ms for one in load.classes),
    )
