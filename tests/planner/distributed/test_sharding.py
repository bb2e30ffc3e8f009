from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from planner.distributed import (
    Cluster,
    EmbeddingTable,
    PieceCosts,
    Pieces,
    RooflineCosts,
    ShardingPlan,
    TableConstraint,
    get_cluster,
    plan_sharding,
    price_placements,
    shipped_tables,
)
from profiles.errors import InputError
from tests.planner.distributed.small_clusters import small_cluster, table


def plan(tables: Sequence[EmbeddingTable], cluster: Cluster, *constraints: TableConstraint) -> ShardingPlan:
    return plan_sharding(tables, cluster, batch_per_rank=64, constraints=constraints)


def ranks_of(made: ShardingPlan, name: str = "t") -> tuple[int, ...]:
    return made.placement(name).ranks


MANY = [table(f"t{index}", rows=100 * index + 50, dim=16, pooling=1.0 + index % 5) for index in range(12)]


def test_two_alike_tables_get_a_rank_each() -> None:
    made = plan([table("a", rows=10**6), table("b", rows=10**6)], small_cluster())
    assert {ranks_of(made, "a"), ranks_of(made, "b")} == {(0,), (1,)}
    assert made.max_over_lower_bound == pytest.approx(1.0)


def test_one_large_table_is_split_over_all_ranks() -> None:
    made = plan([table(rows=10**6, dim=64, pooling=50.0)], small_cluster(1, 4))
    assert ranks_of(made) == (0, 1, 2, 3)


def test_a_small_table_is_copied_where_its_gradient_is_smaller_than_its_messages() -> None:
    assert plan([table(rows=2)], small_cluster()).placement("t").scheme == "data_parallel"


def test_rank_costs_are_those_of_the_placements() -> None:
    made = plan(MANY, small_cluster(2, 2))
    again = price_placements(made.placements, made.cluster, batch_per_rank=64)
    assert made.rank_ms == tuple(again.tolist())


def test_the_same_request_has_the_same_plan() -> None:
    one, other = (plan(MANY, small_cluster(2, 2)) for _ in range(2))
    assert replace(one, plan_seconds=0.0) == replace(other, plan_seconds=0.0)


def test_tables_keep_their_order() -> None:
    assert plan(MANY[::-1], small_cluster()).tables == tuple(MANY[::-1])


def test_what_the_device_cannot_hold_goes_to_the_host() -> None:
    made = plan(
        [table("a", rows=10**4), table("b", rows=10**4)], small_cluster(1, 1, hbm_bytes=700_000, ddr_bytes=10**7)
    )
    assert sorted(one.shards[0].tier for one in made.placements) == ["ddr", "hbm"]
    assert "memory priced" in made.bound_kind


def test_what_others_take_of_a_device_is_left_to_them() -> None:
    cluster = small_cluster(1, 1, hbm_bytes=1_400_000, ddr_bytes=10**7)
    tables = [table("a", rows=10**4), table("b", rows=10**4)]
    whole, less = (
        plan_sharding(tables, cluster, batch_per_rank=64, reserved_bytes=reserved) for reserved in (0.0, 700_000.0)
    )
    assert whole.rank_bytes("ddr").sum() == 0
    assert less.rank_bytes("hbm").max() <= 700_000 < less.rank_bytes("hbm").sum() + less.rank_bytes("ddr").sum()
    assert less.cluster == cluster
    with pytest.raises(InputError, match="hbm has 1,400,000 bytes per device, but layers"):
        plan_sharding(tables, cluster, batch_per_rank=64, reserved_bytes=2e6)


def test_memory_of_a_host_is_shared_by_its_devices() -> None:
    tables = [table(f"t{index}", rows=10**4) for index in range(4)]
    only_ddr = TableConstraint(table="*", tiers=("ddr",), schemes=("table_wise",))
    made = plan(tables, small_cluster(2, 2, ddr_bytes=1_400_000), only_ddr)
    on_nodes = made.rank_bytes("ddr").reshape(2, 2).sum(axis=1)
    assert on_nodes.tolist() == [1_360_000, 1_360_000]


@pytest.mark.parametrize(
    "scheme",
    ["table_wise", "row_wise", "column_wise", "data_parallel", "table_row_wise", "table_column_wise", "grid"],
)
def test_every_scheme_can_be_asked_for(scheme: str) -> None:
    cluster = small_cluster(2, 2)
    made = plan([table(rows=1001, dim=20)], cluster, TableConstraint(table="t", schemes=(scheme,)))  # type: ignore[arg-type]
    placement = made.placement("t")
    assert placement.scheme == scheme
    if scheme in ("table_row_wise", "table_column_wise"):
        assert len({cluster.node_of(rank) for rank in placement.ranks}) == 1
    if scheme == "grid":
        assert {shard.columns for shard in placement.shards} == {12, 8}


def test_rows_may_be_cut_over_some_of_the_ranks() -> None:
    made = plan(
        [table(rows=1001)], small_cluster(1, 5), TableConstraint(table="t", schemes=("row_wise",), max_shards=3)
    )
    assert 2 <= len(ranks_of(made)) <= 3


def test_fewer_rows_than_ranks_are_cut_over_as_many_ranks() -> None:
    made = plan([table(rows=3)], small_cluster(1, 8), TableConstraint(table="t", schemes=("row_wise",)))
    assert len(ranks_of(made)) <= 3


def test_columns_that_do_not_divide_leave_a_narrower_part() -> None:
    made = plan([table(dim=20)], small_cluster(1, 2), TableConstraint(table="t", schemes=("column_wise",)))
    assert [shard.columns for shard in made.placement("t").shards] == [12, 8]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (TableConstraint(table="t3", ranks=(2,)), {2}),
        (TableConstraint(table="t3", hosts=(1,)), {2, 3}),
        (TableConstraint(table="t?", not_on=(0, 1)), {2, 3}),
        (TableConstraint(table="t*", not_on_hosts=(0,)), {2, 3}),
    ],
)
def test_pins_and_bans_are_kept(constraint: TableConstraint, expected: set[int]) -> None:
    made = plan(MANY, small_cluster(2, 2), constraint)
    assert set(ranks_of(made, "t3")) <= expected


def test_rows_pinned_to_some_ranks_use_all_of_them() -> None:
    asked = TableConstraint(table="t", ranks=(1, 2, 5), schemes=("row_wise",), max_shards=3)
    made = plan([table(rows=1000, pooling=400.0)], small_cluster(2, 3), asked)
    assert ranks_of(made) == (1, 2, 5)


def test_tables_held_together_lie_on_the_same_ranks() -> None:
    made = plan(MANY, small_cluster(2, 2), *(TableConstraint(table=name, together="x") for name in ("t1", "t7", "t11")))
    first = made.placement("t1")
    for name in ("t7", "t11"):
        assert made.placement(name).scheme == first.scheme
        assert [shard.rank for shard in made.placement(name).shards] == [shard.rank for shard in first.shards]


def test_together_and_a_pin_hold_for_the_whole_group() -> None:
    group = TableConstraint(table="t[12]", together="x")
    made = plan(MANY, small_cluster(2, 2), group, TableConstraint(table="t1", ranks=(3,)))
    assert ranks_of(made, "t1") == ranks_of(made, "t2") == (3,)


@pytest.mark.parametrize(
    ("constraints", "complaint"),
    [
        ([TableConstraint(table="x")], "table: unknown name 'x'"),
        ([TableConstraint(table="t", ranks=(9,))], r"ranks: must be in 0\.\.1, but got 9"),
        ([TableConstraint(table="t", tiers=("ssd",))], "tier: unknown name 'ssd'"),
        ([TableConstraint(table="t", ranks=(0,), not_on=(0,))], "table t: its constraints leave no rank"),
        (
            [TableConstraint(table="t", schemes=("grid",)), TableConstraint(table="*", schemes=("row_wise",))],
            "leave no scheme: t: schemes=",
        ),
        (
            [TableConstraint(table="t", together="a"), TableConstraint(table="t", together="b")],
            "together: must be one group, but got a, b",
        ),
        (
            [
                TableConstraint(table="?", together="a"),
                TableConstraint(table="t", ranks=(0,)),
                TableConstraint(table="u", ranks=(1,)),
            ],
            "tables of 'a' have no rank that all may lie on",
        ),
        (
            [
                TableConstraint(table="?", together="a"),
                TableConstraint(table="t", schemes=("row_wise",)),
                TableConstraint(table="u", schemes=("table_wise",)),
            ],
            "tables t, u: are to lie together, but no way",
        ),
    ],
)
def test_constraints_that_cannot_hold_are_refused(constraints: list[TableConstraint], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plan([table("t"), table("u", rows=2000)], small_cluster(), *constraints)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ranks": ()}, "ranks: must name at least one"),
        ({"schemes": ("diagonal",)}, "unknown name 'diagonal'"),
        ({"max_shards": 0}, "max_shards: must be >= 1"),
        ({"table": ""}, "table: must not be empty"),
    ],
)
def test_a_bad_constraint_is_refused(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        TableConstraint(**{"table": "t", **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scheme", "rows", "dim", "complaint"),
    [
        ("column_wise", 10, 4, "table t: column_wise cannot cut dim 4"),
        ("table_column_wise", 10, 1, "table t: table_column_wise cannot cut dim 1"),
        ("row_wise", 1, 16, "table t: row_wise cannot cut 1 rows x dim 16"),
        ("table_row_wise", 1, 16, "table t: table_row_wise has 2 ranks per node but only 1 rows"),
    ],
)
def test_a_table_that_a_scheme_cannot_cut_is_named(scheme: str, rows: int, dim: int, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plan([table(rows=rows, dim=dim)], small_cluster(2, 2), TableConstraint(table="t", schemes=(scheme,)))  # type: ignore[arg-type]


def test_schemes_that_the_cluster_or_constraints_rule_out_are_named() -> None:
    with pytest.raises(InputError, match="grid needs several nodes of several devices, but got 1 x 2"):
        plan([table()], small_cluster(), TableConstraint(table="t", schemes=("grid",)))
    with pytest.raises(InputError, match="data_parallel needs all of several ranks, but may use 1 of 2"):
        plan([table()], small_cluster(), TableConstraint(table="t", schemes=("data_parallel",), ranks=(0,)))
    with pytest.raises(InputError, match="row_wise cuts 1000 rows x dim 16 into more than the 1 shards"):
        plan([table()], small_cluster(), TableConstraint(table="t", schemes=("row_wise",), max_shards=1))


@pytest.mark.parametrize(
    ("tables", "batch", "complaint"),
    [
        ([], 1, "tables: must not be empty"),
        ([table(), table()], 1, r"tables: names must be unique, but got 't' \(2 times\)"),
        ([table()], 0, "batch_per_rank: must be >= 1, but got 0"),
    ],
)
def test_bad_requests_are_refused(tables: list[EmbeddingTable], batch: int, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plan_sharding(tables, small_cluster(), batch_per_rank=batch)


class OnlyTables:
    """Costs from elsewhere: one millisecond per whole table, nothing else offered."""

    assumptions = ("a table is a millisecond",)

    def price(self, pieces: Pieces) -> PieceCosts:
        roofline = RooflineCosts().price(pieces)
        ms_N = np.where(pieces.has_scheme("table_wise"), 1.0, np.inf)
        zero_N = np.zeros(len(pieces))
        return replace(
            roofline,
            forward_compute_ms_N=ms_N,
            backward_compute_ms_N=zero_N,
            forward_comm_ms_N=zero_N,
            backward_comm_ms_N=zero_N,
            input_ms_N=zero_N,
        )


def test_costs_are_the_callers() -> None:
    made = plan_sharding(MANY, small_cluster(1, 4), batch_per_rank=1, costs=OnlyTables())
    assert made.rank_ms == (3.0, 3.0, 3.0, 3.0)
    assert made.assumptions == ("a table is a millisecond",)


def test_a_table_without_a_price_is_named() -> None:
    with pytest.raises(InputError, match="tables t2: no way to cut and hold them that is allowed has a price"):
        plan_sharding(
            MANY,
            small_cluster(),
            batch_per_rank=1,
            costs=OnlyTables(),
            constraints=[TableConstraint(table="t2", schemes=("row_wise",))],
        )


@pytest.mark.parametrize(
    ("tables", "nodes"),
    [
        pytest.param("500", 2, marks=pytest.mark.slow),
        ("500", 16),
        pytest.param("1000", 2, marks=pytest.mark.slow),
        pytest.param("1000", 16, marks=pytest.mark.slow),
    ],
)
def test_the_slowest_rank_is_within_1_5_percent_of_the_bound(tables: str, nodes: int) -> None:
    made = plan_sharding(shipped_tables(tables), get_cluster("zionex").with_nodes(nodes), batch_per_rank=512)
    assert made.max_over_lower_bound < 1.015
    assert (made.rank_bytes("hbm") <= made.cluster.tier("hbm").bytes).all()
