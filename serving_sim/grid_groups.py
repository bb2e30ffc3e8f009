"""Which plans can be served together, as lanes of one kernel call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from serving_sim.engine import warmup_of
from serving_sim.kernels import FIXED, TIERED, Chunk, Rule
from serving_sim.kernels.grid import LANES
from serving_sim.paths import PathTables, compile_paths
from serving_sim.plan import Plan
from serving_sim.policies import Policy, PolicyLike, as_policy, routing_context
from serving_sim.rates import is_steady
from serving_sim.sizes import mean_size
from serving_sim.workload import WorkloadStream, empty_chunk

__all__ = ["Lane", "LaneGroup", "collect_groups"]

_MOST_SERVERS = 64
_MOST_QUERIES = 5_000_000
_MOST_SERVICE_TIMES = 2**22


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Lane:
    """A load and a rule, and the places of the plans that have it."""

    qps: float
    sla_ms: float
    rule: Rule
    places: list[int]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LaneGroup:
    """Lanes that share a plan's paths and its queries, the first `warmup` of which do not count."""

    tables: PathTables
    chunk: Chunk
    warmup: int
    lanes: list[Lane] = field(default_factory=list)

    def blocks(self) -> Iterator[list[Lane]]:
        """The lanes, as many at a time as the kernel takes."""
        for start in range(0, len(self.lanes), LANES):
            yield self.lanes[start : start + LANES]


def collect_groups(plans: Sequence[Plan], policy: PolicyLike | None) -> tuple[list[LaneGroup], list[int]]:
    """The groups of plans to serve together, and the places of those to serve alone."""
    builder = _Builder()
    alone = [place for place, plan in enumerate(plans) if not builder.add(place, plan, policy)]
    return list(builder.groups.values()), alone


@dataclass(kw_only=True, slots=True)
class _Builder:
    groups: dict[object, LaneGroup] = field(default_factory=dict)
    lanes: dict[object, Lane] = field(default_factory=dict)
    tables: dict[object, PathTables] = field(default_factory=dict)
    small: dict[object, bool] = field(default_factory=dict)
    chunks: dict[object, Chunk] = field(default_factory=dict)
    means: dict[object, float] = field(default_factory=dict)
    policies: dict[int, Policy] = field(default_factory=dict)

    def add(self, place: int, plan: Plan, policy: PolicyLike | None) -> bool:
        """Give the plan a lane; false where it cannot have one."""
        load = plan.workload
        if load.classes or not is_steady(load.arrivals) or load.queries > _MOST_QUERIES or _has_conditions(plan):
            return False
        queries = (load.queries, load.arrivals, load.sizes, load.ids, plan.seed)
        # Plans with other loads share the very tuples of paths and devices, whose contents are not compared then.
        structure = (id(plan.paths), id(plan.devices), id(plan.caches), queries)
        if structure not in self.tables:
            self.tables[structure] = compile_paths(plan)
            self.small[structure] = _fits(self.tables[structure])
        tables = self.tables[structure]
        if not self.small[structure]:
            return False
        if load.sizes not in self.means:
            self.means[load.sizes] = mean_size(load.sizes)
        choice = plan.policy if policy is None else policy
        # Plans with other loads share the very choice of a policy, which takes longer to read than to compile.
        if id(choice) not in self.policies:
            self.policies[id(choice)] = as_policy(choice)
        rule = self.policies[id(choice)].compile(routing_context(plan, self.means[load.sizes]))
        if not _can_share(rule, tables):
            return False
        entries = (rule.kind, rule.path_E.tobytes(), rule.tier_E.tobytes())
        if (group := self.groups.get((structure, entries))) is None:
            group = self._group(plan, tables, queries)
            self.groups[structure, entries] = group
        own = (load.qps, load.sla_ms, rule.limit_ms_CE.tobytes(), rule.rate_per_ms_E.tobytes())
        lane = self.lanes.get((structure, entries, own))
        if lane is None:
            lane = Lane(qps=load.qps, sla_ms=load.sla_ms, rule=rule, places=[])
            self.lanes[structure, entries, own] = lane
            group.lanes.append(lane)
        lane.places.append(place)
        return True

    def _group(self, plan: Plan, tables: PathTables, queries: object) -> LaneGroup:
        key = (queries, tables.spreads)
        if key not in self.chunks:
            chunk = empty_chunk(plan.workload.queries, len(tables.spreads))
            WorkloadStream(plan.workload, tables.spreads, plan.seed).fill(chunk, plan.workload.queries)
            self.chunks[key] = chunk
        return LaneGroup(tables=tables, chunk=self.chunks[key], warmup=warmup_of(plan.workload.queries))


def _fits(tables: PathTables) -> bool:
    arrays = tables.arrays
    few_times = len(arrays.service_ms_SP) * len(arrays.device_P) <= _MOST_SERVICE_TIMES
    return bool(arrays.servers_D.sum() <= _MOST_SERVERS) and few_times


def _can_share(rule: Rule, tables: PathTables) -> bool:
    """One path, or tiers whose last entry always passes, without scatter that routing would have to see through."""
    if rule.options_O.size:
        return False
    if rule.kind == FIXED:
        return True
    # A plan that can share has one class of queries.
    always = rule.limit_ms_CE[0, -1] == np.inf and rule.rate_per_ms_E[-1] <= 0
    return rule.kind == TIERED and bool(always) and not tables.arrays.uncertain_D.any()


def _has_conditions(plan: Plan) -> bool:
    """Whether service depends on more than path, size and a factor, or devices come and go."""
    return any(
        path.shards or path.latency.idle_gap is not None or path.latency.correlation for path in plan.paths
    ) or any(
        device.state != "up" or device.outages or device.mtbf_s is not None or device.warm_up_s
        for device in plan.devices
    )
