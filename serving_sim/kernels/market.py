"""What a router that prices device time has learned, as arrays. Nothing here is compiled.

Shape suffixes as in `arrays`; R rows (class x bin of sizes), G figures; DC servers of a device.
"""

from typing import NamedTuple, TypeAlias

import numpy as np

from serving_sim.kernels.arrays import MOST_WAITING, Floats, Ints, PathArrays

__all__ = [
    "CROWD",
    "CROWDED_LOAD",
    "CROWD_WEIGHT",
    "FORGETS",
    "IDLE_SHARE",
    "MEMORY_QUERIES",
    "REFUSES",
    "SIZE_BINS",
    "TABLE_COUNTS",
    "TRIFLE",
    "URGENCY",
    "WAIT_WEIGHT",
    "LearnedArrays",
    "Market",
    "new_market",
]

# Places of a priced rule's options. `URGENCY` is one over the SLA (ms) that waits are shares of.
WAIT_WEIGHT, IDLE_SHARE, CROWDED_LOAD, CROWD_WEIGHT, MEMORY_QUERIES, REFUSES, URGENCY = 0, 1, 2, 3, 4, 5, 6

# How crowded the least crowded device was lately: its place in `Market.figures_G`.
CROWD = 4

# How fast the ratio of observed to tabled service times forgets, and how many services the table counts for.
FORGETS, TABLE_COUNTS = 1 / 128, 10.0

# Correct predictions per sample that are not worth waiting for.
TRIFLE = 3e-5

# Two bins of sizes to an octave.
SIZE_BINS = 64


class Market(NamedTuple):
    """What a router has learned: prices (correct predictions per ms), the mix of queries, services seen over tabled.

    `crowded_D` are prices far above capacity, `highest_D` those that no query pays; `weight_R` and `samples_R` count
    queries and samples. Of those that wait (DW) and are under way (DC) the factor, service time over the table's, is
    read only once they are done.
    """

    price_D: Floats
    crowded_D: Floats
    highest_D: Floats
    weight_R: Floats
    samples_R: Floats
    figures_G: Floats
    observed_P: Floats
    tabled_P: Floats
    ratio_P: Floats
    factor_DW: Floats
    path_DW: Ints
    begun_factor_DC: Floats
    begun_path_DC: Ints


# From `observed_P` on, as bare arrays.
LearnedArrays: TypeAlias = tuple[Floats, Floats, Floats, Floats, Ints, Floats, Ints]


def new_market(paths: PathArrays, sla_ms_C: Floats) -> Market:
    """A market that has seen nothing. Its first prices are a hundredth of those that no query pays."""
    sizes, path_count = len(paths.service_ms_SP), len(paths.device_P)
    devices, servers = len(paths.servers_D), int(paths.servers_D.max())
    worth_SP = np.outer(np.arange(1.0, sizes), paths.accuracy_P)
    service_ms_SP = paths.service_ms_SP[1:]
    per_ms_P = np.where(service_ms_SP <= sla_ms_C.max(), worth_SP / service_ms_SP, 0.0).max(axis=0, initial=0.0)
    highest_D = np.zeros(devices)
    np.maximum.at(highest_D, paths.device_P, per_ms_P)
    highest_D = np.where(highest_D > 0, highest_D, 1.0)
    return Market(
        price_D=0.01 * highest_D,
        crowded_D=0.3 * highest_D,
        highest_D=highest_D,
        weight_R=np.zeros(len(sla_ms_C) * SIZE_BINS),
        samples_R=np.zeros(len(sla_ms_C) * SIZE_BINS),
        figures_G=np.array([0.0, 0.0, 0.0, 16.0, 0.0]),
        observed_P=np.zeros(path_count),
        tabled_P=np.zeros(path_count),
        ratio_P=np.ones(path_count),
        factor_DW=np.empty((devices, MOST_WAITING)),
        path_DW=np.empty((devices, MOST_WAITING), dtype=np.int64),
        begun_factor_DC=np.ones((devices, servers)),
        begun_path_DC=np.full((devices, servers), -1, dtype=np.int64),
    )
