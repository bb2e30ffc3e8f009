"""The arrays of the event loop: what it is told of devices, and the state that it keeps. Nothing here is compiled.

Most are arrays of records, so that compiled functions hand few arrays to each other: each costs time to compile.

Shape suffixes as in `arrays`; X steps of service (a path's own, then the shards of all paths), V servers of all
devices, H places for queries in the system, T for their parts (`parts` for each query), O outages of all devices, S
sources of events: the end of service, change of state and detection of each server, then the batch timer and the next
outage of each device.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.arrays import Chunk, Floats, Ints

__all__ = [
    "CHANGES",
    "DEVICE",
    "GIVEN_UP",
    "IN_SYSTEM",
    "LOSSES",
    "NEXT",
    "OLDEST",
    "OVERFLOW",
    "PATH",
    "SPARED",
    "STEP",
    "EventPlan",
    "EventState",
    "Records",
    "new_event_state",
    "served_room",
]

Records: TypeAlias = NDArray[Any]

# Places in `EventState.cursor_F`.
OLDEST, NEXT, OVERFLOW, LOSSES, GIVEN_UP, IN_SYSTEM, CHANGES, SPARED = range(8)


def _record(whole: str = "", real: str = "") -> np.dtype[Any]:
    return np.dtype([(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in real.split()])


# A path's shards are the steps from `first_shard` up to `end_shard`.
PATH = _record("first_shard end_shard", "accuracy")
STEP = _record("device spread")
# Its servers and outages likewise. A device `expects` where a router can only expect a wait, and `restarts` where
# queries that lost their server wait for it.
DEVICE = np.dtype(
    [
        *_record("first_server end_server first_outage end_outage expects restarts").descr,
        *_record("", "detection_ms mtbf_ms repair_ms warm_up_ms warm_up_factor").descr,
        ("key", np.uint64),
    ]
)
# `left` counts the parts that are not done (-1: the query is), `stage` says what they are.
_QUERY = _record("size class_ path left stage losses", "arrival_ms start_ms service_ms")
# `after` is the next part in a queue or batch, -1 at its end.
_PART = _record("after step size", "joined_ms")
# `known` counts the servers that are up as far as is known, `outage` the beginnings and ends so far. Once `changed`,
# when servers will be free has yet to be worked out anew. `coming_ms` is the service behind shards that are not done.
# `price`, `crowded` and what follows from them for the query that is routed, `charge`, are those of a rule by prices.
_QUEUE = _record("first last waiting known outage changed", "work_ms wait_ms coming_ms price crowded charge")
# What a rule by prices has learned of a step of service: times observed and tabled, and their ratio.
_LEARNED = _record("", "observed tabled ratio")
# `down` counts the reasons for it, `drawn` the draws of failures and repairs.
_SERVER = _record("device batch down failed known drawn", "start_ms mean_ms service_ms free_ms warm_ms")


class EventPlan(NamedTuple):
    """Paths, steps and devices, read only.

    `batch_O` holds the samples that fill a batch (0: none is formed) and how long its oldest query waits for that;
    `joined_ms_SX` is what a query adds to a full batch. `outage_ms_OB` are beginnings and ends.
    """

    service_ms_SX: Floats
    joined_ms_SX: Floats
    conditions_XF: Floats
    outage_ms_OB: Floats
    batch_O: Floats
    paths_P: Records
    steps_X: Records
    devices_D: Records
    parts: int


class EventState(NamedTuple):
    """Queries, their parts, queues, servers and the heap of events.

    `cursor_F`: number of the oldest query in the system, and of the next one; queries refused for want of a place;
    losses of a server under a query; queries given up; queries that are not done; failures and repairs since a query
    ended, when none is to follow; servers that fail no more, as those were too many. `given_up_ms_1` is when a query
    was last given up, `crowd_1` how crowded the least crowded device was lately (for a rule by prices).
    """

    queries_H: Records
    factor_KH: Floats
    parts_T: Records
    queues_D: Records
    servers_V: Records
    heap_S: Ints
    place_S: Ints
    time_ms_S: Floats
    events_1: Ints
    cursor_F: Ints
    given_up_ms_1: Floats
    learned_X: Records
    crowd_1: Floats


def new_event_state(plan: EventPlan, spreads: int, held: int) -> EventState:
    """A system without queries at time 0, in which at most `held` (a power of two) find a place."""
    devices_D = plan.devices_D
    servers_D = devices_D["end_server"] - devices_D["first_server"]
    queues_D, servers_V = np.zeros(len(devices_D), dtype=_QUEUE), np.zeros(int(servers_D.sum()), dtype=_SERVER)
    queues_D["first"] = queues_D["last"] = -1
    queues_D["known"] = servers_D
    queues_D["outage"] = 2 * devices_D["first_outage"]
    servers_V["device"] = np.repeat(np.arange(len(devices_D)), servers_D)
    servers_V["batch"], servers_V["known"] = -1, 1
    servers_V["warm_ms"] = devices_D["warm_up_ms"][servers_V["device"]]
    learned_X = np.zeros(len(plan.steps_X), dtype=_LEARNED)
    learned_X["ratio"] = 1.0
    sources = 3 * len(servers_V) + 2 * len(devices_D)
    return EventState(
        queries_H=np.empty(held, dtype=_QUERY),
        factor_KH=np.empty((spreads, held)),
        parts_T=np.empty(held * plan.parts, dtype=_PART),
        queues_D=queues_D,
        servers_V=servers_V,
        heap_S=np.empty(sources, dtype=np.int64),
        place_S=np.full(sources, -1, dtype=np.int64),
        time_ms_S=np.full(sources, np.inf),
        events_1=np.zeros(1, dtype=np.int64),
        cursor_F=np.zeros(8, dtype=np.int64),
        given_up_ms_1=np.zeros(1),
        learned_X=learned_X,
        crowd_1=np.zeros(1),
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
