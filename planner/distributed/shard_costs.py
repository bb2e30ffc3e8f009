"""What a piece of a table costs the rank that holds it: the protocol, and the default from the cluster's roofline."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.input_distribution import InputTraffic, input_traffic
from planner.distributed.pieces import Pieces
from planner.distributed.tables import BYTES_PER_VALUE
from planner.distributed.traffic import Traffic, backward_traffic, forward_traffic
from profiles.errors import UnknownNameError
from profiles.units import MS_PER_S

__all__ = ["PieceCosts", "RooflineCosts", "ShardCosts"]

Floats = NDArray[np.float64]
# What a read of a row moves at least, and in multiples of: a sector of GPU memory.
_SECTOR_BYTES = 32
# Gradients are read, and rows read and written: twice the forward pass (Mudigere et al., arXiv 2104.05158).
_UPDATE_OVER_LOOKUP = 2.0
# A dense update reads the gradient and the weights, and writes them.
_DENSE_UPDATE_PASSES = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PieceCosts:
    """What each piece [N] costs its rank per iteration, and the bytes it takes there in each tier [N, tiers].

    Costs of pieces on one rank add up. An infinite one says that the piece is not offered.
    """

    forward_compute_ms_N: Floats
    backward_compute_ms_N: Floats
    forward_comm_ms_N: Floats
    backward_comm_ms_N: Floats
    input_ms_N: Floats
    input_bytes_N: Floats
    tier_bytes_NT: Floats

    @property
    def total_ms(self) -> Floats:
        """All of it [N]: what the search balances."""
        compute_N = self.forward_compute_ms_N + self.backward_compute_ms_N
        return compute_N + self.forward_comm_ms_N + self.backward_comm_ms_N + self.input_ms_N


class ShardCosts(Protocol):
    """Prices pieces; the search knows nothing of hardware but what this says.

    `price` is called once per plan with the pieces of every option of every table, and once with the plan's own pieces.
    A piece's price depends on the piece alone, and pieces alike but for their rows or columns cost no less with more.
    """

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the prices rest on, as sentences for a reader of the plan."""
        ...

    def price(self, pieces: Pieces) -> PieceCosts:
        """The cost and memory of each piece."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RooflineCosts:
    """Bytes over achieved bandwidths: Emb = B L D bytes / memory, its update twice that, messages over networks.

    After the components of Mudigere et al., arXiv 2104.05158. Latencies of collectives are per call and not per table,
    so they are left out: they are alike on all ranks. `count_input` adds the distribution of ids.
    """

    forward_dtype: str = "float32"
    backward_dtype: str = "float32"
    count_input: bool = True

    def __post_init__(self) -> None:
        for key in ("forward_dtype", "backward_dtype"):
            if getattr(self, key) not in BYTES_PER_VALUE:
                raise UnknownNameError(key, getattr(self, key), BYTES_PER_VALUE)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the prices rest on."""
        counted = "counted" if self.count_input else "taken to be hidden"
        passes = f"{self.forward_dtype} forward and {self.backward_dtype} backward"
        return (
            f"Shard costs are bytes over achieved bandwidths, {passes}; input distribution is {counted}.",
            "Ids fall on the rows of a table evenly, so that row-wise shards get equal shares of the look-ups.",
        )

    def price(self, pieces: Pieces) -> PieceCosts:
        """The cost and memory of each piece."""
        cluster = pieces.cluster
        lookup_N, update_N = _compute_ms(pieces)
        received = input_traffic(pieces)
        tier_bytes_NT = np.zeros((len(pieces), len(cluster.tiers)))
        tier_bytes_NT[np.arange(len(pieces)), pieces.tier_N] = pieces.stored_bytes
        return PieceCosts(
            forward_compute_ms_N=lookup_N,
            backward_compute_ms_N=update_N,
            forward_comm_ms_N=_comm_ms(cluster, forward_traffic(pieces, BYTES_PER_VALUE[self.forward_dtype])),
            backward_comm_ms_N=_comm_ms(cluster, backward_traffic(pieces, BYTES_PER_VALUE[self.backward_dtype])),
            input_ms_N=_comm_ms(cluster, _as_traffic(received)) if self.count_input else np.zeros(len(pieces)),
            input_bytes_N=received.total_bytes,
            tier_bytes_NT=tier_bytes_NT,
        )


def _compute_ms(pieces: Pieces) -> tuple[Floats, Floats]:
    """Milliseconds to look up [N] and to update [N]."""
    cluster = pieces.cluster
    rate_N = np.array([cluster.device_bandwidth(tier.name) for tier in cluster.tiers])[pieces.tier_N]
    copied_N = pieces.has_scheme("data_parallel")
    samples_N = np.where(copied_N, pieces.batch_per_rank, pieces.global_batch)
    row_bytes_N = -(-pieces.weight_bytes_per_row // _SECTOR_BYTES) * _SECTOR_BYTES
    lookup_N = samples_N * pieces.pooling * pieces.row_share * row_bytes_N / rate_N * MS_PER_S
    dense_N = np.where(copied_N, pieces.rows_N * pieces.weight_bytes_per_row / rate_N * MS_PER_S, 0.0)
    return lookup_N, _UPDATE_OVER_LOOKUP * lookup_N + _DENSE_UPDATE_PASSES * dense_N


def _comm_ms(cluster: Cluster, parts: Iterable[Traffic]) -> Floats:
    """Milliseconds [N] that the messages add to their collectives."""
    if cluster.ranks == 1:
        return sum((np.zeros_like(part.bytes_N) for part in parts), np.zeros(()))
    return sum((part.bytes_N / _rate(cluster, part) * MS_PER_S for part in parts), np.zeros(()))


def _rate(cluster: Cluster, part: Traffic) -> float:
    nodes = cluster.nodes if part.scope == "cluster" else 1
    return cluster.network_of(nodes).bandwidth(part.collective, nodes)


def _as_traffic(received: InputTraffic) -> tuple[Traffic, ...]:
    return (
        Traffic(collective="all_to_all", scope="cluster", bytes_N=received.all_to_all_bytes_N),
        Traffic(collective="all_gather", scope="node", bytes_N=received.intra_bytes_N),
    )
