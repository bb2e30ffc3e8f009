"""What the tables of a plan make each rank read, fetch and send in one iteration.

Messages are those by which shards are priced (`planner.distributed.traffic`), added up rank by rank; what lies
outside the fastest memory goes through a cache in what is left of it. Shape suffixes: N pieces, R ranks.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.distributed.hbm_cache import CachedStream, IdReuse, ZipfReuse, cache_hit_rates
from planner.distributed.input_distribution import input_traffic
from planner.distributed.network import Collective
from planner.distributed.pieces import Pieces, pieces_of_placements
from planner.distributed.plan import ShardingPlan
from planner.distributed.traffic import Traffic, backward_traffic, forward_traffic

__all__ = ["SECTOR_BYTES", "EmbeddingTraffic", "Message", "embedding_traffic"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# What a read of a row moves at least, and in multiples of: a sector of GPU memory.
SECTOR_BYTES = 32
# A dense step reads gradients and weights, and writes them.
_DENSE_UPDATE_PASSES = 3


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Message:
    """Bytes of each rank in one collective; `in_node` among the devices of each node."""

    collective: Collective
    in_node: bool
    bytes_R: Floats


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EmbeddingTraffic:
    """Per rank and iteration; `hit_rates` are those of tables outside the fastest memory, the mean over their ranks.

    `read_bytes_R` of rows looked up, `updated_bytes_R` (rows and optimizer state, read and written) and
    `fetched_bytes_R` by tier (rows with state that miss the cache) are memory traffic, the lists are messages.
    """

    read_bytes_R: Floats
    updated_bytes_R: Floats
    fetched_bytes_R: Mapping[str, Floats]
    input: tuple[Message, ...]
    forward: tuple[Message, ...]
    backward: tuple[Message, ...]
    hit_rates: Mapping[str, float]


def embedding_traffic(
    plan: ShardingPlan,
    batch_per_rank: int,
    *,
    forward_bytes: float = 4.0,
    backward_bytes: float = 4.0,
    reserved_bytes: float = 0.0,
    reuse: Mapping[str, IdReuse] | None = None,
) -> EmbeddingTraffic:
    """What the plan's tables cost at `batch_per_rank` samples on every rank.

    `forward_bytes` and `backward_bytes` are those that a value of a pooled embedding and of its gradient travels in.
    Tables outside the fastest memory are cached in what is left of it, less `reserved_bytes`, in rows with their
    optimizer state: by `reuse` of their ids where it is given by table, else by their `zipf`. A table of which neither
    is known is taken to be read evenly, which caches worst.
    """
    ranks = plan.cluster.ranks
    if not plan.placements:
        nothing = np.zeros(ranks)
        return EmbeddingTraffic(
            read_bytes_R=nothing,
            updated_bytes_R=nothing,
            fetched_bytes_R={},
            input=(),
            forward=(),
            backward=(),
            hit_rates={},
        )
    pieces, rank_N = pieces_of_placements(plan.placements, plan.cluster, batch_per_rank)
    received = input_traffic(pieces)
    distributed = (
        Traffic(collective="all_to_all", scope="cluster", bytes_N=received.all_to_all_bytes_N),
        Traffic(collective="all_gather", scope="node", bytes_N=received.intra_bytes_N),
    )
    hits_N = _hit_rates(plan, pieces, rank_N, reserved_bytes, reuse or {})
    return EmbeddingTraffic(
        read_bytes_R=_by_rank(_read_bytes(pieces), rank_N, ranks),
        updated_bytes_R=_by_rank(_updated_bytes(pieces), rank_N, ranks),
        fetched_bytes_R=_fetched(plan, pieces, rank_N, hits_N),
        input=_messages(distributed, rank_N, ranks),
        forward=_messages(forward_traffic(pieces, forward_bytes), rank_N, ranks),
        backward=_messages(backward_traffic(pieces, backward_bytes), rank_N, ranks),
        hit_rates=_by_table(pieces, hits_N),
    )


def _by_rank(values_N: Floats, rank_N: Integers, ranks: int) -> Floats:
    added_R: Floats = np.bincount(rank_N, weights=values_N, minlength=ranks).astype(np.float64)
    return added_R


def _messages(parts: Iterable[Traffic], rank_N: Integers, ranks: int) -> tuple[Message, ...]:
    return tuple(
        Message(
            collective=part.collective,
            in_node=part.scope == "node",
            bytes_R=_by_rank(part.bytes_N, rank_N, ranks),
        )
        for part in parts
        if part.bytes_N.any()
    )


def _ids(pieces: Pieces) -> Floats:
    """How many rows each piece looks up [N]."""
    is_copy_N = pieces.has_scheme("data_parallel")
    samples_N = np.where(is_copy_N, pieces.batch_per_rank, pieces.global_batch)
    ids_N: Floats = samples_N * pieces.pooling * pieces.row_share
    return ids_N


def _read_bytes(pieces: Pieces) -> Floats:
    sectors_N = -(-pieces.weight_bytes_per_row // SECTOR_BYTES)
    bytes_N: Floats = _ids(pieces) * sectors_N * SECTOR_BYTES
    return bytes_N


def _state_bytes_per_row(pieces: Pieces) -> Floats:
    stored_N: Floats = pieces.stored_bytes / pieces.rows_N - pieces.weight_bytes_per_row
    return stored_N


def _updated_bytes(pieces: Pieces) -> Floats:
    """Rows and state, read and written; a replicated table is stepped as a whole."""
    sparse_N = 2 * (_read_bytes(pieces) + _ids(pieces) * _state_bytes_per_row(pieces))
    dense_N = pieces.stored_bytes * float(_DENSE_UPDATE_PASSES)
    updated_N: Floats = sparse_N + np.where(pieces.has_scheme("data_parallel"), dense_N, 0.0)
    return updated_N


def _hit_rates(
    plan: ShardingPlan, pieces: Pieces, rank_N: Integers, reserved_bytes: float, reuse: Mapping[str, IdReuse]
) -> Floats:
    """[N]: 1 in the fastest memory. Pieces outside it share what is left there; ranks that hold alike are alike."""
    fast = plan.cluster.tiers[0]
    usable = fast.bytes / (plan.cluster.devices_per_node if fast.per_host else 1)
    left_R = np.maximum(0.0, usable - plan.rank_bytes(fast.name) - reserved_bytes)
    hits_N = np.ones(len(pieces))
    row_bytes_N = pieces.stored_bytes / pieces.rows_N
    known: dict[tuple[object, ...], tuple[float, ...]] = {}
    slow_N = np.flatnonzero(pieces.tier_N > 0)
    for rank in np.unique(rank_N[slow_N]).tolist():
        held_H = slow_N[rank_N[slow_N] == rank]
        parts = [
            (pieces.tables[pieces.table_N[i]], round(float(pieces.row_share[i]), 9), float(row_bytes_N[i]))
            for i in held_H.tolist()
        ]
        key = (float(left_R[rank]), *parts)
        if key not in known:
            streams = [
                CachedStream(
                    reuse=reuse.get(table.name) or ZipfReuse(rows=table.rows, exponent=table.zipf or 0.0),
                    row_bytes=row_bytes,
                    rate=table.pooling,
                    share=share,
                )
                for table, share, row_bytes in parts
            ]
            known[key] = cache_hit_rates(streams, float(left_R[rank]))
        hits_N[held_H] = known[key]
    return hits_N


def _fetched(plan: ShardingPlan, pieces: Pieces, rank_N: Integers, hits_N: Floats) -> dict[str, Floats]:
    bytes_N = _ids(pieces) * (1 - hits_N) * (pieces.stored_bytes / pieces.rows_N)
    tiers = enumerate(plan.cluster.tiers)
    return {
        tier.name: _by_rank(np.where(pieces.tier_N == place, bytes_N, 0.0), rank_N, plan.cluster.ranks)
        for place, tier in tiers
        if place and (pieces.tier_N == place).any()
    }


def _by_table(pieces: Pieces, hits_N: Floats) -> dict[str, float]:
    rates: dict[str, list[float]] = defaultdict(list)
    for place in np.flatnonzero(pieces.tier_N > 0).tolist():
        rates[pieces.tables[pieces.table_N[place]].name].append(float(hits_N[place]))
    return {name: float(np.mean(found)) for name, found in rates.items()}
