"""How far behind devices were over time: sums of what each arrival had to wait, in equal bins of time."""

import numpy as np

from serving_sim.kernels.arrays import Chunk, Floats, Ints
from serving_sim.kernels.compiled import compiled

__all__ = ["add_backlog"]


@compiled
def add_backlog(
    chunk: Chunk,
    count: int,
    bin_ms: float,
    device_P: Ints,
    count_TD: Ints,
    wait_ms_TD: Floats,
    most_ms_TD: Floats,
    latency_ms_T: Floats,
) -> None:
    """Add the waits and latencies of the chunk's queries to the bins of their arrival, by the device that they took.

    Arrivals beyond the last bin count there.
    """
    arrival_ms_N, start_ms_N, service_ms_N, path_N = (
        chunk.arrival_ms_N,
        chunk.start_ms_N,
        chunk.service_ms_N,
        chunk.path_N,
    )
    query, last = 0, len(count_TD) - 1
    while query < count:
        # Arrivals come in order: those of a bin are next to each other, and one at least is in it.
        place, first = min(int(arrival_ms_N[query] / bin_ms), last), query
        end_ms = (place + 1) * bin_ms if place < last else np.inf
        latency_ms = latency_ms_T[place]
        while query < count and (query == first or arrival_ms_N[query] < end_ms):
            path = path_N[query]
            if path >= 0:
                device, wait_ms = device_P[path], start_ms_N[query] - arrival_ms_N[query]
                count_TD[place, device] += 1
                wait_ms_TD[place, device] += wait_ms
                most_ms_TD[place, device] = max(most_ms_TD[place, device], wait_ms)
                latency_ms += wait_ms + service_ms_N[query]
            query += 1
        latency_ms_T[place] = latency_ms
