"""The arrays that compiled loops read and fill, and the places in them. Nothing here is compiled.

Shape suffixes: P paths, D devices, S sizes (0..maximum), K spreads, N queries of a chunk, E entries of a rule, C
classes of queries (in `Queues` and `Waiting`: servers of the widest device; in `by_class_PC`: size classes), F figures,
B histogram bins, W places of a device's ring of waiting queries, R rows (class x size), X steps of all devices.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ARRIVED",
    "BINS",
    "BINS_PER_OCTAVE",
    "CORRECT",
    "CORRECT_IN_SLA",
    "COUNTED",
    "EXPONENT_OF_ONE",
    "EXTRAPOLATED",
    "FIRST_BIN",
    "FIRST_MS",
    "FIXED",
    "LAST_FINISH_MS",
    "LATENCY_MS",
    "LOWEST_OCTAVE",
    "MANTISSA_BITS",
    "MANTISSA_SHIFT",
    "MOST_WAITING",
    "NEVER_MS",
    "PRICED",
    "REFUSAL",
    "REFUSED",
    "SAMPLES",
    "SIZE_CLASSES",
    "SPLIT",
    "TIERED",
    "VIOLATIONS",
    "WAIT_MS",
    "Chunk",
    "Floats",
    "Ints",
    "PathArrays",
    "PathTables",
    "Queues",
    "Rule",
    "Steps",
    "Totals",
    "Waiting",
    "WaitingArrays",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Ids of the built-in kinds of rule.
FIXED, TIERED, PRICED, SPLIT = 0, 1, 2, 3

# The log histogram: 128 bins per octave are at most 0.79 % wide, so a bin's middle is within 0.4 % of what fell in.
BINS_PER_OCTAVE = 128
MANTISSA_BITS, EXPONENT_OF_ONE = 52, 1023
MANTISSA_SHIFT = MANTISSA_BITS - 7
LOWEST_OCTAVE, _OCTAVES = -20, 64
BINS = _OCTAVES * BINS_PER_OCTAVE
FIRST_BIN = (EXPONENT_OF_ONE + LOWEST_OCTAVE) * BINS_PER_OCTAVE

# Size class c holds the sizes in [2^c, 2^(c+1)).
SIZE_CLASSES = 32

# Queries that a device's queue keeps apart while they wait; those beyond count with the last of them.
MOST_WAITING = 4096

# Figures in `Totals.counts_CF` and `Totals.sums_CF`; those of the run as a whole stand with the first class.
COUNTED, VIOLATIONS, SAMPLES, EXTRAPOLATED, ARRIVED, REFUSED = 0, 1, 2, 3, 4, 5
CORRECT, CORRECT_IN_SLA, WAIT_MS, LATENCY_MS, FIRST_MS, LAST_FINISH_MS = 0, 1, 2, 3, 4, 5

# The path of a query that was refused.
REFUSAL = -1

# Columns of `PathArrays.conditions_PF`.
GAP_MS, COLD, ADDED_MS, CORRELATION, SIGMA = 0, 1, 2, 3, 4

# What a device that no step takes would need: longer than any run.
NEVER_MS = 1e300


class PathArrays(NamedTuple):
    """Paths and devices as arrays. `spread_P` is a path's row of the chunk's factors; its table holds [first, last].

    `uncertain_D` is 1 for devices with a path whose service times scatter. `conditions_PF` has no row, or one per path:
    idle time (ms) beyond which a server is cold, factor of a cold one and what it adds (ms), lag-1 correlation on a
    device of the logs of the lognormal factors (0: none), their sigma.
    """

    service_ms_SP: Floats
    device_P: Ints
    spread_P: Ints
    accuracy_P: Floats
    first_size_P: Ints
    last_size_P: Ints
    servers_D: Ints
    uncertain_D: Ints
    conditions_PF: Floats


# Of each path mean service times, the ratio of observed to these, device, accuracy, and how its services scatter.
PathTables: TypeAlias = tuple[Floats, Floats, Ints, Floats, Floats]


class Rule(NamedTuple):
    """A compiled policy. `FIXED`: the first entry, always. `TIERED`: entries by tier, the most wanted first.

    An entry passes when expected backlog + service <= its limit for the query's class, and size >= `rate_per_ms` x
    service. Of the first tier with an entry that passes, the one with the earliest expected completion is taken; the
    last tier should always pass. `PRICED`: the entry that earns most at the prices of device time, of those that finish
    within their limit; `options_O` says how prices are made (places in `market`). `SPLIT`: all entries, each a part of
    the query; options: 1 where parts are by speed, 0 where they are even, and the fewest samples of a part.

    The first two form batches where they have options: the samples that fill one (0: none), and how long (ms) its
    oldest query waits for that. `chance_PG` says how each path's service times scatter (see `chance`); only a rule by
    prices has rows.
    """

    kind: int
    path_E: Ints
    tier_E: Ints
    limit_ms_CE: Floats
    rate_per_ms_E: Floats
    options_O: Floats
    chance_PG: Floats


class Steps(NamedTuple):
    """A tiered rule, worked out for each class and size, as steps of the expected wait of each device.

    Row class x `sizes` + size. A device has `limits` limits and one step more. The step is the number of limits below
    the wait; it has a service time, and tier x 2^16 + the rule's entry. Of all devices the one of the lowest tier is
    taken, of these the earliest to complete, of these that of the first entry. A lone device has one beside it that
    nothing can take.

    Where there are two devices and every service ends, `margin_ms` says the same in one number: the second is taken
    where it completes by less than that after the first. A row's begin at `first_margin_R`, one for each pair of steps.
    """

    sizes: int
    limits: int
    limit_ms_RX: Floats
    service_ms_RX: Floats
    tier_entry_RX: NDArray[np.int32]
    path_RX: NDArray[np.int32]
    first_margin_R: Ints
    margin_ms: Floats


class Queues(NamedTuple):
    """When each server is free, and per device the next free server; `clock_ms` holds the last scheduled arrival.

    `residual_D` is the normal deviate behind each device's last correlated service, NaN before the first.
    """

    free_ms_DC: Floats
    next_ms_D: Floats
    next_server_D: Ints
    busy_ms_D: Floats
    clock_ms: Floats
    residual_D: Floats


class Waiting(NamedTuple):
    """What a router knows of uncertain devices: mean service of the queries that wait, and of those under way.

    Waiting queries are in a ring per device (first at `first_D`, `count_D` of them) with their mean service, the start
    that they will turn out to have, which is read only once it has come, and the server. `work_ms_D` is the sum of the
    means. Of a query under way the start and mean are known, not the service time.
    """

    first_D: Ints
    count_D: Ints
    work_ms_D: Floats
    start_ms_DW: Floats
    mean_ms_DW: Floats
    server_DW: Ints
    under_way_start_ms_DC: Floats
    under_way_mean_ms_DC: Floats


# `Waiting` as bare arrays.
WaitingArrays: TypeAlias = tuple[Ints, Ints, Floats, Floats, Floats, Ints, Floats, Floats]


class Chunk(NamedTuple):
    """Queries of one chunk: what was drawn (unit-rate gaps, sizes, classes, factors), and what became of them.

    `path_N` is -1 for a query that was refused; its start is its arrival, its service 0.
    """

    gap_N: Floats
    size_N: Ints
    class_N: Ints
    factor_KN: Floats
    arrival_ms_N: Floats
    start_ms_N: Floats
    service_ms_N: Floats
    latency_ms_N: Floats
    path_N: Ints


class Totals(NamedTuple):
    """What is added up over the counted queries, per class; refused ones have a place in the counts alone.

    `queries_CS` counts queries by size. Latencies are counted by section of the run (K): `section_queries` counted
    queries of all classes each, the last row all queries behind the others; `sections_CKF` has COUNTED and VIOLATIONS
    of each. `exact_ms` keeps the first latencies, as many as it holds.
    """

    counts_CF: Ints
    sums_CF: Floats
    by_class_PC: Ints
    queries_CS: Ints
    histogram_CKB: Ints
    sections_CKF: Ints
    section_queries: int
    exact_ms: Floats

    @property
    def counts(self) -> Ints:
        """Over all classes."""
        counts: Ints = self.counts_CF.sum(axis=0)
        return counts

    @property
    def sums(self) -> Floats:
        """Over all classes."""
        sums: Floats = self.sums_CF.sum(axis=0)
        return sums

    @property
    def histogram_CB(self) -> Ints:  # noqa: N802 (a shape suffix)
        """Over all sections."""
        histogram: Ints = self.histogram_CKB.sum(axis=1)
        return histogram

    @property
    def histogram_KB(self) -> Ints:  # noqa: N802 (a shape suffix)
        """Over all classes."""
        histogram: Ints = self.histogram_CKB[0] if len(self.histogram_CKB) == 1 else self.histogram_CKB.sum(axis=0)
        return histogram

    @property
    def histogram_B(self) -> Ints:  # noqa: N802 (a shape suffix)
        """Over all classes and sections."""
        histogram: Ints = self.histogram_CKB.sum(axis=(0, 1))
        return histogram
