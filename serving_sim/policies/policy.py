"""What a policy is: a frozen dataclass of options that compiles, for a plan, to a rule of the event kernel."""

import math
from collections.abc import Sequence
from dataclasses import Field, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from profiles.errors import InputError
from serving_sim.kernels import FIXED, PRICED, SPLIT, TIERED, Rule, chance_row
from serving_sim.plan import Path

__all__ = [
    "TABLE",
    "Entry",
    "Policy",
    "RoutingContext",
    "batched_rule",
    "fixed_rule",
    "priced_rule",
    "split_rule",
    "table_paths",
    "tiered_rule",
]

TABLE = "table"


@dataclass(frozen=True, kw_only=True, slots=True)
class RoutingContext:
    """What a policy may know before the first query: the paths, the SLA, and the offered load (samples per ms).

    `class_slas_ms` are those of the classes of queries, where there are any.
    """

    paths: tuple[Path, ...]
    servers_of_path: tuple[int, ...]
    sla_ms: float
    offered_samples_per_ms: float
    class_slas_ms: tuple[float, ...] = ()

    @property
    def limits_ms(self) -> tuple[float, ...]:
        """The SLA of each class; that of all queries where there are no classes."""
        return self.class_slas_ms or (self.sla_ms,)


class Policy(Protocol):
    """Routes each query to a path. `compile` is called once per run, and again whenever the QPS or the SLA changes.

    A dataclass, whose fields are its options in the plan. Its class goes into `serving_sim.policies.POLICIES`.
    """

    name: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def compile(self, context: RoutingContext) -> Rule:
        """The rule that the kernel follows; `UnknownNameError` for an option that names what is not there."""
        ...


def table_paths(paths: tuple[Path, ...]) -> tuple[int, ...]:
    """Indices of the table paths, or of all paths where there is none: somewhere a query must go."""
    return tuple(i for i, path in enumerate(paths) if path.representation == TABLE) or tuple(range(len(paths)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A path that a rule considers. It passes when expected backlog + service <= `limit_ms` and the path alone, at the
    query's size, serves at least `rate_per_ms` samples per ms on all its device's servers together. Limits may differ
    by class of query.
    """

    path: int
    tier: int = 0
    limit_ms: float | tuple[float, ...] = math.inf
    rate_per_ms: float = 0.0


def fixed_rule(path: int) -> Rule:
    """Every query takes that path."""
    return _rule(FIXED, [Entry(path=path)], [1])


def tiered_rule(entries: Sequence[Entry], servers_of_path: Sequence[int]) -> Rule:
    """The earliest path of the first tier in which one passes; one without conditions should stand in the last tier."""
    return _rule(TIERED, sorted(entries, key=lambda entry: entry.tier), servers_of_path)


def priced_rule(context: RoutingContext, options: Sequence[float]) -> Rule:
    """Of the paths that may hold the SLA, the one that earns most; `options` placed as `kernels.market` says."""
    entries = [Entry(path=path, limit_ms=context.limits_ms) for path in range(len(context.paths))]
    rule = _rule(PRICED, entries, context.servers_of_path, options)
    rows = [chance_row(path.latency.spread, path.latency.sigma) for path in context.paths]
    return rule._replace(chance_PG=np.array(rows))


def split_rule(paths: Sequence[int], servers_of_path: Sequence[int], *, by_speed: bool, smallest: int) -> Rule:
    """Every query takes all these paths at once, samples shared out evenly or by speed, at least `smallest` to each."""
    return _rule(SPLIT, [Entry(path=path) for path in paths], servers_of_path, (float(by_speed), float(smallest)))


def batched_rule(rule: Rule, *, samples: int, wait_ms: float) -> Rule:
    """The rule, with queries of one path served together: up to so many samples, for which the oldest waits so long."""
    if rule.kind not in (FIXED, TIERED):
        raise InputError("policy: only rules with one path, or with tiers, form batches")
    return rule._replace(options_O=np.array([samples, wait_ms], dtype=np.float64))


def _rule(kind: int, entries: Sequence[Entry], servers_of_path: Sequence[int], options: Sequence[float] = ()) -> Rule:
    if not entries:
        raise InputError("paths: a policy needs at least one path, but got none")
    limits = [entry.limit_ms if isinstance(entry.limit_ms, tuple) else (entry.limit_ms,) for entry in entries]
    classes = max(map(len, limits))
    rates = [entry.rate_per_ms / servers_of_path[entry.path] if entry.rate_per_ms else 0.0 for entry in entries]
    return Rule(
        kind=kind,
        path_E=np.array([entry.path for entry in entries], dtype=np.int64),
        tier_E=np.array([entry.tier for entry in entries], dtype=np.int64),
        limit_ms_CE=np.array([one * classes if len(one) == 1 else one for one in limits], dtype=np.float64).T.copy(),
        rate_per_ms_E=np.array(rates, dtype=np.float64),
        options_O=np.array(options, dtype=np.float64),
        chance_PG=np.empty((0, 0)),
    )
