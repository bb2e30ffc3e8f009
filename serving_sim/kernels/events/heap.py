"""The indexed heap of events: the next one of each source, by time, those of one time by source."""

import numpy as np

from serving_sim.kernels.compiled import compiled_within
from serving_sim.kernels.events.arrays import EventState, Records

__all__ = ["schedule"]


@compiled_within
def _is_sooner(one: int, other: int, sources_S: Records) -> bool:
    one_ms, other_ms = sources_S[one].time_ms, sources_S[other].time_ms
    return bool(one_ms < other_ms or (one_ms == other_ms and one < other))


@compiled_within
def _put(source: int, place: int, sources_S: Records) -> None:
    sources_S[place].heap = source
    sources_S[source].place = place


@compiled_within
def schedule(source: int, time_ms: float, state: EventState) -> None:
    """Move the source's event to that time; infinite: it has none."""
    sources_S, loop = state.sources_S, state.loop_1[0]
    place = sources_S[source].place
    sources_S[source].time_ms = time_ms
    if place < 0:
        if time_ms == np.inf:
            return
        place = loop.events
        loop.events += 1
    elif time_ms == np.inf:
        sources_S[source].place = -1
        loop.events -= 1
        if place == loop.events:
            return
        source = sources_S[loop.events].heap
    events = loop.events
    while place > 0 and _is_sooner(source, sources_S[(place - 1) // 2].heap, sources_S):
        _put(sources_S[(place - 1) // 2].heap, place, sources_S)
        place = (place - 1) // 2
    while 2 * place + 1 < events:
        below = 2 * place + 1
        if below + 1 < events and _is_sooner(sources_S[below + 1].heap, sources_S[below].heap, sources_S):
            below += 1
        if not _is_sooner(sources_S[below].heap, source, sources_S):
            break
        _put(sources_S[below].heap, place, sources_S)
        place = below
    _put(source, place, sources_S)
