"""Which path a query takes, by the wait that is expected at each device."""

import numpy as np

from serving_sim.kernels.arrays import FIXED, PRICED, Rule
from serving_sim.kernels.compiled import compiled_within
from serving_sim.kernels.events.arrays import EventPlan, EventState
from serving_sim.kernels.events.prices import route_by_price
from serving_sim.kernels.events.waits import look

__all__ = ["earliest", "route"]


@compiled_within
def _latency_ms(path: int, size: int, plan: EventPlan, state: EventState) -> float:
    """Expected wait, for shards too, and service."""
    step = plan.steps_X[path]
    wait_ms = state.queues_D[step.device].wait_ms
    for shard in range(step.first_shard, step.end_shard):
        wait_ms = max(wait_ms, state.queues_D[plan.steps_X[shard].device].wait_ms + plan.service_ms_SX[size, shard])
    return float(plan.service_ms_SX[size, path] + wait_ms)


@compiled_within
def earliest(size: int, rule: Rule, plan: EventPlan, state: EventState) -> int:
    """The path on which the query would be done first."""
    best, best_ms = rule.path_E[0], np.inf
    for path in rule.path_E:
        latency_ms = _latency_ms(path, size, plan, state)
        if latency_ms < best_ms:
            best, best_ms = path, latency_ms
    return int(best)


@compiled_within
def _first_tier(size: int, class_: int, rule: Rule, plan: EventPlan, state: EventState) -> int:
    """The rule's path; another of its paths where that one is known to be down and the other is not."""
    best, best_ms, tier = rule.path_E[-1], np.inf, -1
    for entry in range(rule.path_E.size - 1, -1, -1):
        best_ms = best_ms if rule.tier_E[entry] == tier else np.inf
        tier = rule.tier_E[entry]
        path = rule.path_E[entry]
        latency_ms = _latency_ms(path, size, plan, state)
        fast_enough = size >= rule.rate_per_ms_E[entry] * plan.service_ms_SX[size, path]
        if latency_ms <= rule.limit_ms_CE[class_, entry] and fast_enough and latency_ms <= best_ms:
            best, best_ms = path, latency_ms
    if _latency_ms(best, size, plan, state) == np.inf:
        return int(earliest(size, rule, plan, state))
    return int(best)


@compiled_within
def route(
    now_ms: float, waited_ms: float, size: int, class_: int, rule: Rule, plan: EventPlan, state: EventState
) -> int:
    """The path that the rule gives a query that has waited for so long; -1: it is refused."""
    if rule.kind == FIXED:
        return int(rule.path_E[0])
    look(now_ms, plan, state)
    if rule.kind != PRICED:
        return int(_first_tier(size, class_, rule, plan, state))
    path, is_refused = route_by_price(now_ms, waited_ms, size, class_, rule, plan, state)
    return int(path) if path >= 0 or is_refused else int(earliest(size, rule, plan, state))
