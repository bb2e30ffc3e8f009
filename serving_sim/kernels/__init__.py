"""The compiled loops of the simulator, and the arrays that they read and fill.

All state is in arrays passed in, nothing is kept between calls, and sums continue where the last chunk left them, so
that the chunk size changes no bit of a result. numba's disk cache does not see a change in a callee of another file, so
no compiled function calls one of another file.
"""

from serving_sim.kernels.accounting import account_chunk
from serving_sim.kernels.arrays import (
    ARRIVED,
    BINS,
    BINS_PER_OCTAVE,
    CORRECT,
    CORRECT_IN_SLA,
    COUNTED,
    EXTRAPOLATED,
    FIRST_MS,
    FIXED,
    LAST_FINISH_MS,
    LATENCY_MS,
    LOWEST_OCTAVE,
    MOST_WAITING,
    SAMPLES,
    SIZE_CLASSES,
    TIERED,
    VIOLATIONS,
    WAIT_MS,
    Chunk,
    Floats,
    Ints,
    PathArrays,
    Queues,
    Rule,
    Totals,
    Waiting,
)
from serving_sim.kernels.dual import dual_gradient, dual_sum_chunk, least_cost
from serving_sim.kernels.serving import expected_wait_ms, note_query, serve_chunk, start_waiting

__all__ = [
    "ARRIVED",
    "BINS",
    "BINS_PER_OCTAVE",
    "CORRECT",
    "CORRECT_IN_SLA",
    "COUNTED",
    "EXTRAPOLATED",
    "FIRST_MS",
    "FIXED",
    "LAST_FINISH_MS",
    "LATENCY_MS",
    "LOWEST_OCTAVE",
    "MOST_WAITING",
    "SAMPLES",
    "SIZE_CLASSES",
    "TIERED",
    "VIOLATIONS",
    "WAIT_MS",
    "Chunk",
    "Floats",
    "Ints",
    "PathArrays",
    "Queues",
    "Rule",
    "Totals",
    "Waiting",
    "account_chunk",
    "dual_gradient",
    "dual_sum_chunk",
    "expected_wait_ms",
    "least_cost",
    "note_query",
    "serve_chunk",
    "start_waiting",
]
