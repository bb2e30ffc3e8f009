"""The arrays of the event loop: what it is told of devices, and the state that it keeps. Nothing here is compiled.

Nearly all are arrays of records. Compiled functions hand each other few arrays, as each costs time to compile, and
take a record out of its array once: it is then one pointer, through which they read and write.

Shape suffixes as in the kernels' `arrays`; X steps of service (a path's own, then the shards of all paths), V servers
of all devices, H places for queries in the system, T for their parts (`parts` for each query), O outages of all
devices, C size classes, S sources of events: the end of service, change of state and detection of each server, then the
batch timer and the next outage of each device.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.arrays import SIZE_CLASSES, Chunk, Floats, Ints
from serving_sim.kernels.market import Room, new_room

__all__ = [
    "DEVICE",
    "OUTAGE",
    "STEP",
    "EventPlan",
    "EventState",
    "Record",
    "Records",
    "new_event_state",
    "served_room",
]

Records: TypeAlias = NDArray[Any]
Record: TypeAlias = Any


def _record(whole: str = "", real: str = "") -> np.dtype[Any]:
    return np.dtype([(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in real.split()])


# A path's shards are the steps from `first_shard` up to `end_shard`; a shard has none, and no accuracy. What follows
# the accuracy is as in `PathArrays.conditions_PF`.
STEP = _record("device spread first_shard end_shard", "accuracy gap_ms cold added_ms correlation sigma")
# Its servers and outages likewise. A device `expects` where a router can only expect a wait, `learns` where that
# router also holds services against their tables, and `restarts` where queries that lost their server wait for it.
DEVICE = np.dtype(
    [
        *_record("first_server end_server first_outage end_outage expects learns restarts").descr,
        *_record("", "detection_ms mtbf_ms repair_ms warm_up_ms warm_up_factor").descr,
        ("key", np.uint64),
    ]
)
OUTAGE = _record("", "start_ms end_ms")
# `left` counts the parts that are not done (-1: the query is), `stage` says what they are.
_QUERY = _record("size class_ path left stage losses", "arrival_ms start_ms service_ms")
# `after` is the next part in a queue or batch, -1 at its end; `mean_ms` what it was expected to take when it joined.
_PART = _record("after step size", "joined_ms mean_ms")
# `known` counts the servers that are up as far as is known, `outage` the beginnings and ends so far. `next_server` and
# `next_ms` are foreseen; once `changed`, that has yet to be done anew. `coming_ms` is the service behind shards that
# are not done, `residual` the normal deviate behind the last correlated service. `price`, `crowded` and what follows
# from them for the query that is routed, `charge`, are those of a rule by prices.
_QUEUE = _record(
    "first last waiting known outage changed next_server",
    "work_ms wait_ms coming_ms next_ms busy_ms residual price crowded charge",
)
# What a rule by prices has learned of a step of service: times observed and tabled, and their ratio.
_LEARNED = _record("", "observed tabled ratio")
# `down` counts the reasons for it, `drawn` the draws of failures and repairs; `foreseen_ms` is when it will be free.
# `step` is that of the last service, -1 where there is nothing to learn from it, `factor` its time over the table's.
_SERVER = _record(
    "device batch down failed known drawn step", "start_ms mean_ms service_ms free_ms warm_ms foreseen_ms factor"
)
# A source's next event (infinite: none) and its place in the heap; `heap` is the source that has this place.
_SOURCE = _record("heap place", "time_ms")
# The loop as a whole: whether it has started; events in the heap; the oldest query in the system, and the next one;
# queries refused for want of a place; losses of a server under a query; queries given up; queries that are not done;
# failures and repairs since a query ended, when none is to follow; servers that fail no more, as those were too many.
# Then the last arrival, when a query was last given up, how crowded the least crowded device was lately, and
# how many samples were lost per query.
_LOOP = _record(
    "started events oldest next overflow losses given_up in_system changes spared", "now_ms given_up_ms crowd lost"
)


class EventPlan(NamedTuple):
    """Steps of service and devices, read only.

    `full` samples fill a batch (0: none is formed), whose oldest query waits `wait_ms` for that; `joined_ms_SX` is what
    a query adds to a full batch.
    """

    service_ms_SX: Floats
    joined_ms_SX: Floats
    steps_X: Records
    devices_D: Records
    outages_O: Records
    parts: int
    full: int
    wait_ms: float


class EventState(NamedTuple):
    """Queries, their parts, queues, servers, what is learned, the heap of events, the one record of the loop, and what
    a rule by prices knows of the queries that come. `samples_XC` counts those of split queries by the step they took.
    """

    queries_H: Records
    factor_KH: Floats
    parts_T: Records
    queues_D: Records
    servers_V: Records
    learned_X: Records
    samples_XC: Ints
    sources_S: Records
    loop_1: Records
    room: Room


def new_event_state(plan: EventPlan, spreads: int, held: int) -> EventState:
    """A system without queries at time 0, in which at most `held` (a power of two) find a place."""
    devices_D = plan.devices_D
    servers_D = devices_D["end_server"] - devices_D["first_server"]
    queues_D, servers_V = np.zeros(len(devices_D), dtype=_QUEUE), np.zeros(int(servers_D.sum()), dtype=_SERVER)
    queues_D["first"] = queues_D["last"] = -1
    queues_D["known"] = servers_D
    queues_D["outage"] = 2 * devices_D["first_outage"]
    queues_D["next_server"] = devices_D["first_server"]
    queues_D["residual"] = np.nan
    servers_V["device"] = np.repeat(np.arange(len(devices_D)), servers_D)
    servers_V["batch"], servers_V["step"], servers_V["known"] = -1, -1, 1
    servers_V["warm_ms"] = devices_D["warm_up_ms"][servers_V["device"]]
    learned_X = np.zeros(len(plan.steps_X), dtype=_LEARNED)
    learned_X["ratio"] = 1.0
    sources_S = np.zeros(3 * len(servers_V) + 2 * len(devices_D), dtype=_SOURCE)
    sources_S["place"], sources_S["time_ms"] = -1, np.inf
    return EventState(
        queries_H=np.empty(held, dtype=_QUERY),
        factor_KH=np.empty((spreads, held)),
        parts_T=np.empty(held * plan.parts, dtype=_PART),
        queues_D=queues_D,
        servers_V=servers_V,
        learned_X=learned_X,
        samples_XC=np.zeros((len(plan.steps_X), SIZE_CLASSES), dtype=np.int64),
        sources_S=sources_S,
        loop_1=np.zeros(1, dtype=_LOOP),
        room=new_room(1, len(devices_D), int(servers_D.max())),
    )


def served_room(chunk: Chunk, room: int) -> Chunk:
    """Room for so many queries that are done, under the spreads of this chunk."""
    return Chunk(
        gap_N=np.empty(0),
        size_N=np.empty(room, dtype=np.int64),
        class_N=np.empty(room, dtype=np.int64),
        factor_KN=np.empty((len(chunk.factor_KN), room)),
        arrival_ms_N=np.empty(room),
        start_ms_N=np.empty(room),
        service_ms_N=np.empty(room),
        latency_ms_N=np.empty(room),
        path_N=np.empty(room, dtype=np.int64),
    )
