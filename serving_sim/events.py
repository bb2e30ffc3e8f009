"""Which plans only the general loop serves, and what it is told of their devices.

It is needed where queries are joined or split, where a path has shards, and where a device has outages, failures or a
warm-up. On all other plans the loops for queries one by one do the same faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from profiles.units import MS_PER_S
from serving_sim.kernels import (
    FIXED,
    PRICED,
    SPLIT,
    Chunk,
    EventPlan,
    EventState,
    Rule,
    new_event_state,
    served_room,
)
from serving_sim.kernels.events import DEVICE, OUTAGE, STEP, Records
from serving_sim.paths import PathTables, compile_paths, conditions_of, service_ms, shard_spreads
from serving_sim.plan import Device, LatencyTable, Plan
from serving_sim.workload import failure_keys

__all__ = ["MOST_IN_SYSTEM", "Events", "batching_of", "event_plan", "general_plan", "needs_events", "start_with"]

# Queries that find a place in the system; those beyond are refused.
MOST_IN_SYSTEM = 2**17
# Failures and repairs of a run, beyond which it would take hours.
_MOST_CHANGES = 10**8


@dataclass(kw_only=True, slots=True, eq=False)
class Events:
    """The general loop under way: what it reads, its state, and room for the queries that are done."""

    plan: EventPlan
    state: EventState
    done: Chunk | None = field(default=None)

    def room_for(self, chunk: Chunk, count: int) -> Chunk:
        """Room for all that may be done once the chunk's first `count` queries have come."""
        room = len(self.state.queries_H) + count
        if self.done is None or len(self.done.size_N) < room:
            self.done = served_room(chunk, room)
        return self.done


def batching_of(rule: Rule) -> tuple[int, float]:
    """The samples that fill a batch (0: none is formed) and how long (ms) its oldest query waits for that."""
    if rule.kind in (PRICED, SPLIT) or not rule.options_O.size:
        return 0, 0.0
    return int(rule.options_O[0]), float(rule.options_O[1])


def needs_events(plan: Plan, rule: Rule) -> bool:
    """Whether only the general loop serves the plan under the rule."""
    is_general = any(path.shards for path in plan.paths) or any(map(_changes, plan.devices))
    return is_general or rule.kind == SPLIT or batching_of(rule)[0] > 0


def event_plan(plan: Plan, rule: Rule) -> EventPlan | None:
    """What the general loop is told; none where the plan does not need it.

    Raises:
        InputError: parts of a query on a path with shards, or failures that come too often to follow.
    """
    if not needs_events(plan, rule):
        return None
    if rule.kind == SPLIT and any(plan.paths[path].shards for path in rule.path_E):
        sharded = ", ".join(plan.paths[path].name for path in rule.path_E if plan.paths[path].shards)
        raise InputError(
            "policy: one that splits queries takes no path with shards, as the parts of a query would each wait for "
            f"shards of their own, but got {sharded}"
        )
    _require_few_changes(plan)
    return general_plan(plan, rule)


def start_with(plan: EventPlan, spreads: int, queries: int) -> Events:
    """The loop at time 0, for runs of that many queries."""
    held = 1 << (min(max(queries, 2), MOST_IN_SYSTEM) - 1).bit_length()
    return Events(plan=plan, state=new_event_state(plan, spreads, held))


def general_plan(plan: Plan, rule: Rule) -> EventPlan:
    """What the general loop is told, whether the plan needs it or not."""
    full, wait_ms = batching_of(rule)
    tables = compile_paths(plan, largest=full)
    arrays, shards = tables.arrays, [shard for path in plan.paths for shard in path.shards]
    sizes = len(arrays.service_ms_SP)
    shard_ms = [_column(shard.latency, sizes) for shard in shards]
    service_ms_SX = np.ascontiguousarray(np.column_stack([arrays.service_ms_SP, *shard_ms]))
    steps_X = _steps(plan, tables)
    latencies = [path.latency for path in plan.paths] + [shard.latency for shard in shards]
    devices_D = _devices(plan, rule)
    devices_D["expects"] = _expects(plan, latencies, steps_X["device"], rule)
    devices_D["learns"] = devices_D["expects"] if rule.kind == PRICED else 0
    outages = [(outage.start_s, outage.end_s) for device in plan.devices for outage in device.outages]
    counts = [len(path.shards) for path in plan.paths]
    return EventPlan(
        service_ms_SX=service_ms_SX,
        joined_ms_SX=_joined_ms(service_ms_SX, full),
        steps_X=steps_X,
        devices_D=devices_D,
        outages_O=np.array([(start_s * MS_PER_S, end_s * MS_PER_S) for start_s, end_s in outages], dtype=OUTAGE),
        parts=max(1, *counts, len(rule.path_E) if rule.kind == SPLIT else 1),
        full=full,
        wait_ms=wait_ms,
    )


def _steps(plan: Plan, tables: PathTables) -> Records:
    """A path's own steps, then the shards of all paths."""
    paths, shards = plan.paths, [shard for path in plan.paths for shard in path.shards]
    names, arrays = [device.name for device in plan.devices], tables.arrays
    steps_X = np.zeros(len(paths) + len(shards), dtype=STEP)
    steps_X["device"] = [*arrays.device_P, *(names.index(shard.device) for shard in shards)]
    steps_X["spread"] = [*arrays.spread_P, *(tables.spreads.index(spread) for spread in shard_spreads(plan))]
    steps_X["gap_ms"], steps_X["cold"] = np.inf, 1.0
    conditions_XF = conditions_of([path.latency for path in paths] + [shard.latency for shard in shards])
    if conditions_XF.size:
        for place, name in enumerate(("gap_ms", "cold", "added_ms", "correlation", "sigma")):
            steps_X[name] = conditions_XF[:, place]
    own_P = steps_X[: len(paths)]
    own_P["first_shard"], own_P["end_shard"] = (len(paths) + ends for ends in _ends([len(p.shards) for p in paths]))
    own_P["accuracy"] = arrays.accuracy_P
    return steps_X


def _devices(plan: Plan, rule: Rule) -> Records:
    devices, devices_D = plan.devices, np.zeros(len(plan.devices), dtype=DEVICE)
    devices_D["first_server"], devices_D["end_server"] = _ends([device.servers for device in devices])
    devices_D["first_outage"], devices_D["end_outage"] = _ends([len(device.outages) for device in devices])
    # With one path there is nowhere else to go.
    devices_D["restarts"] = [rule.kind == FIXED or device.on_failure == "restart" for device in devices]
    devices_D["detection_ms"] = [device.detection_s * MS_PER_S for device in devices]
    devices_D["mtbf_ms"] = [_or_never(device, device.mtbf_s) * MS_PER_S for device in devices]
    devices_D["repair_ms"] = [_or_never(device, device.repair_s) * MS_PER_S for device in devices]
    devices_D["warm_up_ms"] = [device.warm_up_s * MS_PER_S for device in devices]
    devices_D["warm_up_factor"] = [device.warm_up_factor for device in devices]
    devices_D["key"] = failure_keys(plan.seed, len(devices))
    return devices_D


def _changes(device: Device) -> bool:
    return device.state == "up" and bool(device.outages or device.mtbf_s is not None or device.warm_up_s)


def _column(latency: LatencyTable, sizes: int) -> NDArray[np.float64]:
    return np.concatenate(([0.0], service_ms(latency, np.arange(1, sizes))))


def _joined_ms(service_ms_SX: NDArray[np.float64], full: int) -> NDArray[np.float64]:
    """Each query's share of a full batch, by samples; its own service where batches are not formed or it fills one."""
    if not full:
        return service_ms_SX
    joined_ms_SX = service_ms_SX.copy()
    joined_ms_SX[1:full] = np.arange(1, full)[:, np.newaxis] / full * service_ms_SX[full]
    return joined_ms_SX


def _expects(
    plan: Plan, latencies: Sequence[LatencyTable], device_X: NDArray[np.int64], rule: Rule
) -> NDArray[np.int64]:
    is_vague = batching_of(rule)[0] > 0 or rule.kind == FIXED
    expects_D = np.array([is_vague or device.warm_up_s > 0 for device in plan.devices], dtype=np.int64)
    for device, table in zip(device_X, latencies, strict=True):
        expects_D[device] |= table.spread != "none" or bool(table.miss_shares) or table.idle_gap is not None
    return expects_D


def _require_few_changes(plan: Plan) -> None:
    run_s = plan.workload.queries / plan.workload.qps
    for device in plan.devices:
        if device.mtbf_s is None or device.repair_s is None:
            continue
        changes = 2 * device.servers * run_s / (device.mtbf_s + device.repair_s)
        if changes > _MOST_CHANGES:
            raise InputError(
                f"devices.{device.name}.mtbf_s: {changes:.2g} failures and repairs in {run_s:.3g} s are too many to "
                f"follow; at most {_MOST_CHANGES:.0e}"
            )


def _or_never(device: Device, value_s: float | None) -> float:
    return np.inf if value_s is None or device.state == "failed" else value_s


def _ends(counts: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each of several stretches begins and ends, one after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    return ends - np.array(counts, dtype=np.int64), ends
