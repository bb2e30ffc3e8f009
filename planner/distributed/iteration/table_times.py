"""Times of a rank's look-ups and updates: measured ones where a profile store has the rank's very tables."""

from collections import defaultdict
from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import NDArray

from planner.distributed.iteration.component_times import ComponentTimes, Provenance
from planner.distributed.plan import ShardingPlan
from profiles.component import Component
from profiles.errors import InputError
from representations.embedding_components import group_component
from representations.phases import backward_of
from representations.specs import Feature, TableDtype, TableSpec

__all__ = ["rank_components", "with_measured_tables"]

Floats = NDArray[np.float64]


def with_measured_tables(
    estimated_R: Floats, plan: ShardingPlan, batch_per_rank: int, phase: str, times: ComponentTimes | None
) -> tuple[Floats, Provenance]:
    """`estimated_R` seconds of each rank's tables, replaced where all of a rank's components were measured.

    Of the `backward` pass fbgemm's applies row-wise Adagrad as well, so that it is the update.
    """
    if times is None:
        return estimated_R, "estimated"
    seconds_R, measured = estimated_R.copy(), 0
    components = rank_components(plan, batch_per_rank)
    for rank, found in components.items():
        wanted = [backward_of(one) if phase == "backward" else one for one in found]
        known = [times.seconds(one) for one in wanted]
        if known and None not in known:
            seconds_R[rank] = sum(filter(None, known))
            measured += 1
    busy = int(np.count_nonzero(estimated_R))
    return seconds_R, "measured" if measured == busy > 0 else "partly measured" if measured else "estimated"


def rank_components(plan: ShardingPlan, batch_per_rank: int) -> dict[int, list[Component]]:
    """By rank, its tables as table-batched look-ups of the global batch, alike in width and dtype together.

    A rank that holds a part which no such look-up reads (a copy, a dtype or width of other kernels) has none.
    """
    samples = batch_per_rank * plan.cluster.ranks
    groups: dict[int, dict[tuple[int, str], list[tuple[Feature, TableSpec, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    refused: set[int] = set()
    for rank, part in _parts(plan):
        if part is None:
            refused.add(rank)
        else:
            groups[rank][part[1].dim, part[1].dtype].append(part)
    return {
        rank: [
            group_component([f for f, _, _ in parts], [s for _, s, _ in parts], samples, [z for _, _, z in parts])
            for parts in held.values()
        ]
        for rank, held in groups.items()
        if rank not in refused
    }


def _parts(plan: ShardingPlan) -> Iterator[tuple[int, tuple[Feature, TableSpec, float] | None]]:
    for placement in plan.placements:
        table = placement.table
        for shard in placement.shards:
            try:
                # A dtype that the kernel does not know is refused by the spec.
                spec = TableSpec(dim=shard.columns, dtype=cast("TableDtype", table.dtype), backend="fbgemm")
            except InputError:
                yield shard.rank, None
                continue
            if placement.scheme == "data_parallel":
                yield shard.rank, None
                continue
            pooling = table.pooling * shard.rows / table.rows
            yield (
                shard.rank,
                (Feature(name=table.name, cardinality=shard.rows, pooling=pooling), spec, table.zipf or 0.0),
            )
