"""Steps on one or two devices of one server: the halves of a chunk are served side by side.

No query can be routed before the one before it has been, and until that is known a processor has little to do. So the
second half is served along with the first, as if its devices were as free as at the start of the chunk. Then it is
served again, query by query, until both devices are as free as they were taken to be: from there on nothing differs.
Where queues empty now and then that takes some hundred queries; in an overload it takes the whole half.
"""

import numpy as np
from numpy.typing import NDArray

from serving_sim.kernels.arrays import Chunk, Floats, Ints, Queues, Steps
from serving_sim.kernels.compiled import compiled, inlined

__all__ = ["serve_pair"]

# Queries between two comparisons of how free devices are with how free they were taken to be.
_BLOCK = 64


@inlined
def _serve_next(
    query: int,
    free_0_ms: float,
    free_1_ms: float,
    tables: tuple[int, int, Floats, Floats, NDArray[np.int32], Ints, Floats],
    drawn_N: tuple[Ints, Ints, Floats],
    served_N: tuple[Floats, Floats, Ints],
) -> tuple[float, float]:
    """Serve one query; returns when the devices are free from then on.

    Nothing on the way from one query's finish to the next one's choice branches. Places are unsigned, as the compiler
    lets signed ones count from the end.
    """
    sizes, limits, limit_ms, service_ms, path_X, first_margin_R, margin_ms = tables
    size_N, class_N, arrival_ms_N = drawn_N
    start_ms_N, service_ms_N, path_N = served_N
    here = np.uint64(query)
    row, now_ms = np.uint64(class_N[here] * sizes + size_N[here]), arrival_ms_N[here]
    start_0_ms, start_1_ms = max(now_ms, free_0_ms), max(now_ms, free_1_ms)
    wait_0_ms, wait_1_ms = start_0_ms - now_ms, start_1_ms - now_ms
    limit_0, step_0, step_1 = row * np.uint64(2 * limits), np.uint64(0), np.uint64(0)
    limit_1 = limit_0 + np.uint64(limits)
    for step in range(np.uint64(limits)):
        step_0 += np.uint64(wait_0_ms > limit_ms[limit_0 + step])
        step_1 += np.uint64(wait_1_ms > limit_ms[limit_1 + step])
    margin = np.uint64(first_margin_R[row]) + step_0 * np.uint64(limits + 1) + step_1
    place_0, place_1 = limit_0 + row + row + step_0, limit_1 + row + row + np.uint64(1) + step_1
    service_0_ms, service_1_ms = service_ms[place_0], service_ms[place_1]
    second = (wait_1_ms + service_1_ms) - (wait_0_ms + service_0_ms) < margin_ms[margin]
    start_ms_N[here] = start_1_ms if second else start_0_ms
    service_ms_N[here] = service_1_ms if second else service_0_ms
    path_N[here] = path_X[place_1 if second else place_0]
    return (
        free_0_ms if second else start_0_ms + service_0_ms,
        start_1_ms + service_1_ms if second else free_1_ms,
    )


@compiled
def serve_pair(chunk: Chunk, count: int, gap_ms: float, steps: Steps, queues: Queues) -> None:
    """Serve the first `count` queries of the chunk by steps on one or two devices of one server, without scatter."""
    next_ms_D, clock_ms = queues.next_ms_D, queues.clock_ms
    gap_N, size_N, class_N, _, arrival_ms_N, start_ms_N, service_ms_N, _, path_N = chunk
    tables = (
        steps.sizes,
        steps.limits,
        steps.limit_ms_RX.ravel(),
        steps.service_ms_RX.ravel(),
        steps.path_RX.ravel(),
        steps.first_margin_R,
        steps.margin_ms,
    )
    drawn_N, served_N = (size_N, class_N, arrival_ms_N), (start_ms_N, service_ms_N, path_N)
    now_ms = clock_ms[0]
    for query in range(count):
        now_ms += gap_N[query] * gap_ms
        arrival_ms_N[query] = now_ms
    half = count // (2 * _BLOCK) * _BLOCK
    free_0_ms, free_1_ms = next_ms_D[0], next_ms_D[1] if next_ms_D.size > 1 else 0.0
    taken_0_ms, taken_1_ms, taken_ms_BD = free_0_ms, free_1_ms, np.empty((half // _BLOCK, 2))
    for query in range(half):
        if query % _BLOCK == 0:
            taken_ms_BD[query // _BLOCK, 0], taken_ms_BD[query // _BLOCK, 1] = taken_0_ms, taken_1_ms
        free_0_ms, free_1_ms = _serve_next(query, free_0_ms, free_1_ms, tables, drawn_N, served_N)
        taken_0_ms, taken_1_ms = _serve_next(half + query, taken_0_ms, taken_1_ms, tables, drawn_N, served_N)
    query = half
    while query < count:
        if query < 2 * half and query % _BLOCK == 0:
            now_ms, before_ms_D = arrival_ms_N[query], taken_ms_BD[query // _BLOCK - half // _BLOCK]
            alike_0 = max(now_ms, free_0_ms) == max(now_ms, before_ms_D[0])
            alike_1 = max(now_ms, free_1_ms) == max(now_ms, before_ms_D[1])
            if alike_0 and alike_1:
                # A device that took no query from here on is free since when it truly was.
                free_0_ms = taken_0_ms if taken_0_ms > before_ms_D[0] else free_0_ms
                free_1_ms = taken_1_ms if taken_1_ms > before_ms_D[1] else free_1_ms
                query = 2 * half
                continue
        free_0_ms, free_1_ms = _serve_next(query, free_0_ms, free_1_ms, tables, drawn_N, served_N)
        query += 1
    if count > 0:
        clock_ms[0], next_ms_D[0] = arrival_ms_N[count - 1], free_0_ms
    if next_ms_D.size > 1:
        next_ms_D[1] = free_1_ms
