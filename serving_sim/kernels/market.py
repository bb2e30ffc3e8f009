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
    "LOSSES",
    "LOSS_COUNTS",
    "LOST",
    "LUMP_MS",
    "MEMORY_QUERIES",
    "MOST_FOR_LOSSES",
    "REFUSES",
    "SIZE_BINS",
    "TABLE_COUNTS",
    "TRIFLE",
    "URGENCY",
    "WAIT_WEIGHT",
    "LearnedArrays",
    "Market",
    "Room",
    "new_market",
    "new_room",
]

# Places of a priced rule's options. `URGENCY` is one over the SLA (ms) that waits are shares of.
WAIT_WEIGHT, IDLE_SHARE, CROWDED_LOAD, CROWD_WEIGHT, MEMORY_QUERIES, REFUSES, URGENCY = 0, 1, 2, 3, 4, 5, 6

# How crowded the least crowded device was lately, and samples lost per query: their places in `Market.figures_G`.
CROWD, LOST = 4, 5

# What samples lost lately add to the charge, times the rate of queries; as a share of the crowded price, the most.
LOSS_COUNTS, MOST_FOR_LOSSES = 4.0, 0.02

# Places in `Room.figures_F`: what losses add to the charge, and how lumpy work is.
LOSSES, LUMP_MS = 0, 1

# How fast the ratio of observed to tabled service times forgets, and how many services the table counts for.
FORGETS, TABLE_COUNTS = 1 / 128, 10.0

# Correct predictions per sample that are not worth waiting for.
TRIFLE = 3e-5

# Two bins of sizes to an octave.
SIZE_BINS = 64


class Room(NamedTuple):
    """What queries that come need: what a class would lose per ms that no device holds it (`flow_KC`, correct
    predictions), the wait that it bears on each device (-inf: none), the least of these, the share of all work that
    one server of a device does, what was lost lately and how lumpy the work is; and room for what is left of
    each server's.
    """

    flow_KC: Floats
    slack_ms_CD: Floats
    least_ms_D: Floats
    share_D: Floats
    figures_F: Floats
    rest_ms_DC: Floats


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
    room: Room


# From `observed_P` on, as bare arrays.
LearnedArrays: TypeAlias = tuple[Floats, Floats, Floats, Floats, Ints, Floats, Ints]


def new_market(paths: PathArrays, sla_ms_C: Floats) -> Market:
    """A market that has seen nothing. Its first prices are a hundredth of those that no query pays.

    Those are of services that end in time, or may where they scatter.
    """
    sizes, path_count = len(paths.service_ms_SP), len(paths.device_P)
    devices, servers = len(paths.servers_D), int(paths.servers_D.max())
    worth_SP = np.outer(np.arange(1.0, sizes), paths.accuracy_P)
    service_ms_SP = paths.service_ms_SP[1:]
    ends_SP = (service_ms_SP <= sla_ms_C.max()) | ((paths.uncertain_D[paths.device_P] > 0) & (service_ms_SP < np.inf))
    per_ms_P = np.where(ends_SP, worth_SP / service_ms_SP, 0.0).max(axis=0, initial=0.0)
    highest_D = np.zeros(devices)
    np.maximum.at(highest_D, paths.device_P, per_ms_P)
    highest_D = np.where(highest_D > 0, highest_D, 1.0)
    return Market(
        price_D=0.01 * highest_D,
        crowded_D=0.3 * highest_D,
        highest_D=highest_D,
        weight_R=np.zeros(len(sla_ms_C) * SIZE_BINS),
        samples_R=np.zeros(len(sla_ms_C) * SIZE_BINS),
        figures_G=np.array([0.0, 0.0, 0.0, 16.0, 0.0, 0.0]),
        observed_P=np.zeros(path_count),
        tabled_P=np.zeros(path_count),
        ratio_P=np.ones(path_count),
        factor_DW=np.empty((devices, MOST_WAITING)),
        path_DW=np.empty((devices, MOST_WAITING), dtype=np.int64),
        begun_factor_DC=np.ones((devices, servers)),
        begun_path_DC=np.full((devices, servers), -1, dtype=np.int64),
        room=new_room(len(sla_ms_C), devices, servers),
    )


def new_room(classes: int, devices: int, servers: int) -> Room:
    """Nothing seen: no class bears anything, or loses anything."""
    return Room(
        flow_KC=np.zeros((2, classes)),
        slack_ms_CD=np.full((classes, devices), -np.inf),
        least_ms_D=np.full(devices, np.inf),
        share_D=np.zeros(devices),
        figures_F=np.zeros(2),
        rest_ms_DC=np.zeros((devices, servers)),
    )
