"""Tables that are alike share tiers, where one price would put all of them into one."""

from planner.distributed import EmbeddingTable
from planner.distributed.constraints import TableConstraint
from planner.distributed.sharding import plan_sharding
from tests.planner.distributed.iteration.placed import cluster_of


def test_tables_alike_fill_both_tiers_where_neither_holds_all() -> None:
    tables = [EmbeddingTable(name=f"t{i}", rows=1000, dim=64, pooling=4, optimizer="sgd") for i in range(16)]
    one = tables[0].total_bytes
    cluster = cluster_of(hbm_bytes=2 * one + 100, ddr_bytes=13 * one)
    whole_rows = TableConstraint(table="*", schemes=("row_wise",))
    plan = plan_sharding(tables, cluster, batch_per_rank=64, constraints=[whole_rows])
    assert plan.rank_bytes("hbm").tolist() == [2 * one, 2 * one]
    assert plan.rank_bytes("ddr").sum() == 12 * one
