"""The problem that the search solves: options of units, ranks with capacities, and where each unit may lie."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.search.options import EVERYWHERE, NODE, Options

__all__ = ["Capacities", "Problem", "make_problem"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacities:
    """Usable bytes of each tier on a rank [T] and on a node [T]; a tier that does not count there is infinite."""

    rank_T: Floats
    node_T: Floats
    total_T: Floats

    @classmethod
    def of(cls, cluster: Cluster) -> "Capacities":
        """The capacities of the cluster's tiers."""
        shared_T = np.array([tier.per_host for tier in cluster.tiers])
        bytes_T = np.array([float(tier.bytes) for tier in cluster.tiers])
        return cls(
            rank_T=np.where(shared_T, np.inf, bytes_T),
            node_T=np.where(shared_T, bytes_T, np.inf),
            total_T=np.array([float(cluster.tier_bytes(tier.name)) for tier in cluster.tiers]),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Options [O] of units [U], `start_U1` their first ones; `allowed_UP` is None where every rank is open to all."""

    options: Options
    start_U1: Integers
    ranks: int
    nodes: int
    capacities: Capacities
    allowed_UP: Booleans | None

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.start_U1) - 1

    @property
    def devices(self) -> int:
        """Devices of a node."""
        return self.ranks // self.nodes

    def options_of(self, unit: int) -> range:
        """The options of a unit."""
        return range(int(self.start_U1[unit]), int(self.start_U1[unit + 1]))

    def item_ms(self, option: int) -> Floats:
        """What each item of the option [items] costs the ranks that it takes, the largest first."""
        return np.repeat(self.options.ms_OG[option], self.options.count_OG[option])

    def item_bytes(self, option: int) -> Floats:
        """The bytes [items, T] that each item takes there."""
        return np.repeat(self.options.bytes_OGT[option], self.options.count_OG[option], axis=0)

    def allowed(self, unit: int) -> Booleans | None:
        """The ranks [P] that the unit may lie on; None where all."""
        if self.allowed_UP is None:
            return None
        allowed_P = self.allowed_UP[unit]
        return None if allowed_P.all() else allowed_P


def make_problem(options: Options, units: int, cluster: Cluster, allowed_UP: Booleans) -> Problem:
    """The problem of options that fit at all: those whose every item fits an empty rank and node."""
    capacities = Capacities.of(cluster)
    options = options.where(fits_alone(options, capacities, cluster.devices_per_node))
    return Problem(
        options=options,
        start_U1=np.searchsorted(options.unit_O, np.arange(units + 1)),
        ranks=cluster.ranks,
        nodes=cluster.nodes,
        capacities=capacities,
        allowed_UP=None if allowed_UP.all() else allowed_UP,
    )


def fits_alone(options: Options, capacities: Capacities, devices: int) -> Booleans:
    """Which options [O] have no item that overfills an empty rank or node."""
    most_OT = options.bytes_OGT.max(axis=1)
    ranks_O = np.where(np.isin(options.kind_O, (NODE, EVERYWHERE)), devices, 1)
    fits_O: Booleans = (most_OT <= capacities.rank_T).all(axis=1)
    fits_O &= (most_OT * ranks_O[:, None] <= capacities.node_T).all(axis=1)
    return fits_O
