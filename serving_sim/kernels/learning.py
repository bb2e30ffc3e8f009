"""What a router that prices device time expects of a queue and learns from it: as in `serving`, at service times as
observed.

A service is learned from when the next one begins on its server. Its expected time is the table's times the ratio that
was learned when it was routed, and stays that.

Shape suffixes as in `arrays`; DC servers of a device.
"""

from serving_sim.kernels.arrays import MOST_WAITING, Floats, Ints, WaitingArrays
from serving_sim.kernels.compiled import compiled_borrowing
from serving_sim.kernels.market import FORGETS, TABLE_COUNTS, LearnedArrays
from serving_sim.kernels.serving import expected_wait_ms

__all__ = ["look", "note_priced_query"]


@compiled_borrowing
def _learn(device: int, server: int, learned: LearnedArrays) -> None:
    """A query is done: hold its service time against its path's table."""
    observed_P, tabled_P, ratio_P, _, _, begun_factor_DC, begun_path_DC = learned
    path = begun_path_DC[device, server]
    if path >= 0:
        observed_P[path] += begun_factor_DC[device, server] - FORGETS * observed_P[path]
        tabled_P[path] += 1.0 - FORGETS * tabled_P[path]
        ratio_P[path] = (observed_P[path] + TABLE_COUNTS) / (tabled_P[path] + TABLE_COUNTS)


@compiled_borrowing
def _start_waiting(device: int, now_ms: float, waiting: WaitingArrays, learned: LearnedArrays) -> None:
    """As that function of `serving`; learns from what was before on the server."""
    _, _, _, factor_DW, path_DW, begun_factor_DC, begun_path_DC = learned
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, begun_ms_DC, begun_mean_ms_DC = waiting
    first, count, work_ms = first_D[device], count_D[device], work_ms_D[device]
    while count > 0 and start_ms_DW[device, first] <= now_ms:
        server = server_DW[device, first]
        _learn(device, server, learned)
        begun_ms_DC[device, server] = start_ms_DW[device, first]
        begun_mean_ms_DC[device, server] = mean_ms_DW[device, first]
        begun_factor_DC[device, server] = factor_DW[device, first]
        begun_path_DC[device, server] = path_DW[device, first]
        work_ms = work_ms - mean_ms_DW[device, first] if count > 1 else 0.0
        first, count = (first + 1) % MOST_WAITING, count - 1
    first_D[device], count_D[device], work_ms_D[device] = first, count, work_ms


@compiled_borrowing
def look(
    now_ms: float,
    servers_D: Ints,
    uncertain_D: Ints,
    waiting: WaitingArrays,
    learned: LearnedArrays,
    wait_ms_D: Floats,
) -> None:
    """Put the expected wait in place of the one that will be, where a router cannot know it."""
    count_D = waiting[1]
    for device in range(servers_D.size):
        if not uncertain_D[device]:
            continue
        if count_D[device] > 0:
            _start_waiting(device, now_ms, waiting, learned)
        if wait_ms_D[device] > 0:
            expected_ms = expected_wait_ms(device, now_ms, servers_D[device], waiting)
            # As the other loops have it, which know until when there is work.
            wait_ms_D[device] = max(0.0, (now_ms + expected_ms) - now_ms)


@compiled_borrowing
def note_priced_query(
    place: tuple[int, int, int],
    now_ms: float,
    start_ms: float,
    mean_ms: float,
    factor: float,
    waiting: WaitingArrays,
    learned: LearnedArrays,
) -> None:
    """As `note_query` of `serving`, at a device, server and path; the factor is read only once the query is done."""
    device, server, path = place
    _, _, _, factor_DW, path_DW, begun_factor_DC, begun_path_DC = learned
    first_D, count_D, work_ms_D, start_ms_DW, mean_ms_DW, server_DW, begun_ms_DC, begun_mean_ms_DC = waiting
    if start_ms <= now_ms:
        _learn(device, server, learned)
        begun_ms_DC[device, server], begun_mean_ms_DC[device, server] = start_ms, mean_ms
        begun_factor_DC[device, server], begun_path_DC[device, server] = factor, path
        return
    work_ms_D[device] += mean_ms
    if count_D[device] == MOST_WAITING:
        mean_ms_DW[device, (first_D[device] + MOST_WAITING - 1) % MOST_WAITING] += mean_ms
        return
    last = (first_D[device] + count_D[device]) % MOST_WAITING
    start_ms_DW[device, last], mean_ms_DW[device, last], server_DW[device, last] = start_ms, mean_ms, server
    factor_DW[device, last], path_DW[device, last] = factor, path
    count_D[device] += 1
