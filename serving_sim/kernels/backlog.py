"""How far behind devices were over time: sums of what each arrival had to wait, in equal bins of time."""

from numba import njit

from serving_sim.kernels.arrays import Chunk, Floats, Ints

__all__ = ["add_backlog"]


@njit(cache=True)
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
    bins = len(count_TD)
    for query in range(count):
        path = path_N[query]
        if path < 0:
            continue
        device, place = device_P[path], min(int(arrival_ms_N[query] / bin_ms), bins - 1)
        wait_ms = start_ms_N[query] - arrival_ms_N[query]
        count_TD[place, device] += 1
        wait_ms_TD[place, device] += wait_ms
        most_ms_TD[place, device] = max(most_ms_TD[place, device], wait_ms)
        latency_ms_T[place] += wait_ms + service_ms_N[query]
