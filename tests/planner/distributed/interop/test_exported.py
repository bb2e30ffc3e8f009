from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.distributed import EmbeddingTable, Placement, Shard
from planner.distributed.interop import export_plan, read_export
from profiles.errors import InputError
from tests.planner.distributed.interop.small_plans import Block, placed, plan_of, small_cluster


def over(ranks: list[int], rows: list[int], dim: int = 8) -> list[Block]:
    starts = [sum(rows[:i]) for i in range(len(rows))]
    return [(rank, start, start + n, 0, dim) for rank, start, n in zip(ranks, starts, rows, strict=True)]


def test_even_rows_over_all_ranks_are_cut_where_torchrec_looks_ids_up() -> None:
    plan = plan_of(small_cluster(2, 2), placed("t", "row_wise", 10, 8, *over([3, 1, 0, 2], [3, 3, 2, 2])))
    (table,) = export_plan(plan).tables
    assert table.sharding_type == "row_wise"
    assert [(one.rank, one.row_start, one.rows) for one in table.shards] == [(0, 0, 3), (1, 3, 3), (2, 6, 3), (3, 9, 1)]


@given(rows=st.integers(4, 200), nodes=st.integers(1, 3))
def test_blocks_hold_every_row_once_and_no_rank_holds_more(rows: int, nodes: int) -> None:
    ranks = 2 * nodes
    sizes = [rows // ranks + (rank < rows % ranks) for rank in range(ranks)]
    blocks = over([r for r in range(ranks) if sizes[r]], [size for size in sizes if size])
    if len(blocks) < ranks:
        return
    (table,) = export_plan(plan_of(small_cluster(nodes, 2), placed("t", "row_wise", rows, 8, *blocks))).tables
    assert sum(one.rows for one in table.shards) == rows
    assert max(one.rows for one in table.shards) == max(sizes)


def test_rows_over_one_host_become_table_row_wise() -> None:
    plan = plan_of(small_cluster(2, 2), placed("t", "row_wise", 10, 8, *over([2, 3], [5, 5])))
    (table,) = export_plan(plan).tables
    assert (table.sharding_type, [one.rank for one in table.shards]) == ("table_row_wise", [2, 3])


def test_what_torchrec_would_run_wrongly_is_refused_by_name() -> None:
    cluster = small_cluster(2, 2)
    plan = plan_of(
        cluster,
        placed("fine", "table_wise", 10, 8, (0, 0, 10, 0, 8)),
        placed("uneven", "row_wise", 100, 8, *over([0, 1, 2, 3], [70, 10, 10, 10])),
        placed("some", "row_wise", 10, 8, *over([1, 2], [5, 5])),
        placed("three", "row_wise", 9, 8, *over([0, 1, 2], [3, 3, 3])),
    )
    with pytest.raises(
        InputError, match=r"torchrec cannot run 3 of 4 tables: uneven: uneven rows, 10 to 70 a rank"
    ) as e:
        export_plan(plan)
    assert "some: rows over 2 of 4 ranks (1, 2), which are not the 2 of one host" in str(e.value)
    assert "three: rows over 3 of 4 ranks" in str(e.value)


@pytest.mark.parametrize(
    ("placement", "complaint"),
    [
        (placed("t", "data_parallel", 5, 8, (0, 0, 5, 0, 8)), "copies on 1 of 4 ranks"),
        (placed("t", "column_wise", 5, 8, (0, 0, 5, 0, 3), (1, 0, 5, 3, 8)), "3 columns on rank 0; fused kernels"),
        (placed("t", "grid", 4, 8, (0, 0, 2, 0, 8), (2, 2, 4, 0, 8)), r"columns from 0 on ranks 0, 2; torchrec takes"),
        (placed("t", "column_wise", 4, 8, (0, 0, 2, 0, 8), (0, 2, 4, 0, 8)), "columns that do not hold all rows"),
    ],
)
def test_each_refusal_says_why(placement: object, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        export_plan(plan_of(small_cluster(2, 2), placement))  # type: ignore[arg-type] # parametrised


def test_columns_over_hosts_and_rows_in_each_are_a_grid() -> None:
    blocks = [(0, 0, 2, 0, 4), (1, 2, 4, 0, 4), (3, 2, 4, 4, 8), (2, 0, 2, 4, 8)]
    (table,) = export_plan(plan_of(small_cluster(2, 2), placed("t", "grid", 4, 8, *blocks))).tables
    assert (table.sharding_type, table.min_partition) == ("grid_shard", 4)
    assert [(one.rank, one.row_start, one.column_start) for one in table.shards] == [
        (0, 0, 0), (1, 2, 0), (2, 0, 4), (3, 2, 4),
    ]  # fmt: skip
    one_host = plan_of(small_cluster(2, 2), placed("t", "grid", 4, 8, *over([2, 3], [2, 2])))
    assert export_plan(one_host).tables[0].sharding_type == "table_row_wise"


def test_a_table_s_shards_lie_in_one_kind_of_memory() -> None:
    shards = (Shard("t", 0, 0, 5, 0, 4, "hbm"), Shard("t", 1, 0, 5, 4, 8, "ddr"))
    placement = Placement(table=EmbeddingTable(name="t", rows=5, dim=8), scheme="column_wise", shards=shards)
    with pytest.raises(InputError, match="shards in ddr and hbm; torchrec keeps a table in one kind of memory"):
        export_plan(plan_of(small_cluster(1, 2, "dgx-h100"), placement))


def test_columns_of_any_width_run_without_fused_kernels() -> None:
    plan = plan_of(small_cluster(1, 2), placed("t", "column_wise", 5, 8, (0, 0, 5, 0, 3), (1, 0, 5, 3, 8)))
    (table,) = export_plan(plan, fused=False).tables
    assert (table.compute_kernel, table.min_partition) == ("dense", 3)


@pytest.mark.parametrize(("tier", "kernel"), [("hbm", "fused"), ("ddr", "fused_uvm"), ("ssd", "key_value")])
def test_memory_decides_the_kernel(tier: str, kernel: str) -> None:
    plan = plan_of(small_cluster(1, 2, "dgx-h100"), placed("t", "table_wise", 5, 8, (0, 0, 5, 0, 8), tier=tier))
    assert export_plan(plan).tables[0].compute_kernel == kernel


def test_an_export_comes_back_from_its_file(tmp_path: Path) -> None:
    export = export_plan(plan_of(small_cluster(1, 2), placed("t", "row_wise", 10, 8, *over([0, 1], [5, 5]))))
    assert read_export(export.save(tmp_path / "torchrec.json")) == export
    (tmp_path / "other.json").write_text('{"schema": "recplan.plan/1"}')
    with pytest.raises(InputError, match=r"schema: must be 'recplan.torchrec/1'"):
        read_export(tmp_path / "other.json")
