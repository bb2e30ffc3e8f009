"""What holds of every plan, over random tables, clusters and constraints."""

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.distributed import (
    EmbeddingTable,
    InfeasiblePlanError,
    Placement,
    Shard,
    ShardingPlan,
    TableConstraint,
    plan_sharding,
    price_placements,
)
from planner.distributed.plan import Scheme
from planner.distributed.splits import part_spans
from tests.planner.distributed.small_clusters import small_cluster

FEW = settings(max_examples=12, deadline=None, derandomize=True)
tables_of = st.lists(
    st.tuples(
        st.integers(1, 3000),
        st.integers(1, 24),
        st.floats(0.1, 40.0),
        st.sampled_from(["float32", "float16", "int8"]),
        st.sampled_from(["rowwise_adagrad", "adagrad", "sgd", "adam"]),
    ),
    min_size=1,
    max_size=8,
).map(
    lambda bodies: [
        EmbeddingTable(name=f"t{index}", rows=rows, dim=dim, pooling=pooling, dtype=dtype, optimizer=optimizer)  # type: ignore[arg-type]
        for index, (rows, dim, pooling, dtype, optimizer) in enumerate(bodies)
    ]
)
clusters_of = st.builds(
    small_cluster,
    st.integers(1, 3),
    st.integers(1, 3),
    hbm_bytes=st.integers(50_000, 10**6),
    ddr_bytes=st.sampled_from([0, 10**6]),
)


def coverage(placement: Placement) -> np.ndarray[Any, np.dtype[np.int64]]:
    times = np.zeros((placement.table.rows, placement.table.dim), dtype=np.int64)
    for shard in placement.shards:
        times[shard.row_start : shard.row_stop, shard.column_start : shard.column_stop] += 1
    return times


@FEW
@given(tables_of, clusters_of, st.integers(1, 64))
def test_every_value_is_placed_once_and_no_memory_is_overfull(
    tables: list[EmbeddingTable], cluster: Any, batch: int
) -> None:
    try:
        made = plan_sharding(tables, cluster, batch_per_rank=batch)
    except InfeasiblePlanError:
        return
    for placement in made.placements:
        copies = cluster.ranks if placement.scheme == "data_parallel" else 1
        assert (coverage(placement) == copies).all()
        assert len({shard.rank for shard in placement.shards}) == len(placement.shards)
    for tier in cluster.tiers:
        held = made.rank_bytes(tier.name)
        held = held.reshape(cluster.nodes, -1).sum(axis=1) if tier.per_host else held
        assert (held <= tier.bytes).all()
    assert made.slowest_ms >= made.lower_bound_ms * (1 - 1e-9)


def ways(table: EmbeddingTable) -> list[Placement]:
    """Every placement of a table on two ranks, even shards or as planned."""
    whole = (0, table.rows, 0, table.dim)

    def placed(scheme: Scheme, *cuts: tuple[int, int, int, int], order: tuple[int, int] = (0, 1)) -> Placement:
        shards = tuple(Shard(table.name, rank, *cut, "hbm") for rank, cut in zip(order, cuts, strict=False))
        return Placement(table=table, scheme=scheme, shards=shards)

    found = [placed("table_wise", whole, order=(rank, 1 - rank)) for rank in (0, 1)]
    found.append(placed("data_parallel", whole, whole))
    for order in permutations((0, 1)):
        rows = [(*span, 0, table.dim) for span in part_spans(table.rows, 2)]
        columns = [(0, table.rows, *span) for span in part_spans(table.dim, 2, 4)]
        found += [placed("row_wise", *rows, order=order), placed("column_wise", *columns, order=order)]  # type: ignore[arg-type]
    return found


@FEW
@given(
    st.lists(st.tuples(st.integers(2, 4000), st.sampled_from([8, 12]), st.floats(0.5, 30.0)), min_size=1, max_size=3)
)
def test_no_placement_beats_the_bound(shapes: list[tuple[int, int, float]]) -> None:
    cluster = small_cluster()
    tables = [
        EmbeddingTable(name=f"t{index}", rows=rows, dim=dim, pooling=pooling)
        for index, (rows, dim, pooling) in enumerate(shapes)
    ]
    made = plan_sharding(tables, cluster, batch_per_rank=32)
    priced = [[price_placements([way], cluster, batch_per_rank=32) for way in ways(one)] for one in tables]
    best = min(float(np.sum(chosen, axis=0).max()) for chosen in product(*priced))
    assert made.lower_bound_ms <= best * (1 + 1e-9)
    assert best <= made.slowest_ms * (1 + 1e-9)
    assert made.slowest_ms <= best * 1.3


def summary(made: ShardingPlan) -> list[tuple[str, str, list[tuple[Any, ...]]]]:
    return sorted(
        (one.table.name, one.scheme, [(shard.rank, *shard[2:6]) for shard in one.shards]) for one in made.placements
    )


@FEW
@given(tables_of, st.randoms(use_true_random=False))
def test_the_order_of_tables_does_not_matter(tables: list[EmbeddingTable], random: Any) -> None:
    cluster = small_cluster(2, 2)
    shuffled = random.sample(tables, len(tables))
    one, other = (plan_sharding(given, cluster, batch_per_rank=32) for given in (tables, shuffled))
    assert summary(one) == summary(other)
    assert one.lower_bound_ms == other.lower_bound_ms


@FEW
@given(tables_of, st.permutations([0, 1, 2]), st.lists(st.permutations([0, 1]), min_size=3, max_size=3))
def test_the_numbering_of_ranks_does_not_matter(
    tables: list[EmbeddingTable], nodes: list[int], devices: list[list[int]]
) -> None:
    cluster = small_cluster(3, 2)
    renamed = [2 * nodes[rank // 2] + devices[rank // 2][rank % 2] for rank in range(6)]
    pins = {"t0": (4,), "t1": (1, 2)}

    def plan(names: list[int]) -> ShardingPlan:
        asked = [
            TableConstraint(table=name, ranks=tuple(names[rank] for rank in ranks))
            for name, ranks in pins.items()
            if name in {one.name for one in tables}
        ]
        return plan_sharding(tables, cluster, batch_per_rank=32, constraints=asked)

    one, other = plan(list(range(6))), plan(renamed)
    assert sorted(one.rank_ms) == pytest.approx(sorted(other.rank_ms))
    assert [placement.scheme for placement in one.placements] == [placement.scheme for placement in other.placements]
    assert one.lower_bound_ms == other.lower_bound_ms


@FEW
@given(tables_of, st.floats(1.0, 8.0))
def test_a_faster_network_lowers_the_bound_and_every_rank_of_a_plan(
    tables: list[EmbeddingTable], factor: float
) -> None:
    slow = small_cluster(2, 2)
    fast = small_cluster(2, 2, intra=slow.intra.faster(factor), inter=slow.inter.faster(factor))
    made = plan_sharding(tables, slow, batch_per_rank=32)
    assert plan_sharding(tables, fast, batch_per_rank=32).lower_bound_ms <= made.lower_bound_ms * (1 + 1e-9)
    assert (price_placements(made.placements, fast, batch_per_rank=32) <= np.array(made.rank_ms) * (1 + 1e-9)).all()
