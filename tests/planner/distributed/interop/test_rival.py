from dataclasses import replace

import pytest

from planner.distributed import EmbeddingTable, get_cluster
from planner.distributed.interop import plan_with_torchrec
from profiles.errors import InfeasibleError

CLUSTER = replace(get_cluster("zionex"), nodes=2, devices_per_node=2)
TABLES = tuple(EmbeddingTable(name=f"t{i}", rows=1000 * (i + 1), dim=64, pooling=5.0) for i in range(5))


@pytest.mark.slow
def test_torchrec_places_every_table_and_says_what_each_rank_costs() -> None:
    plan = plan_with_torchrec(TABLES, CLUSTER, batch_per_rank=512)
    assert plan.tables == TABLES
    assert plan.plan_seconds > 0
    assert plan.slowest_ms > 0
    assert plan.rank_bytes("hbm").sum() >= sum(table.total_bytes for table in TABLES)


@pytest.mark.slow
def test_bandwidths_may_be_torchrec_s_own() -> None:
    slow = plan_with_torchrec(TABLES, CLUSTER, batch_per_rank=512, constants="torchrec")
    assert slow.slowest_ms != plan_with_torchrec(TABLES, CLUSTER, batch_per_rank=512).slowest_ms
    assert "a V100's" in slow.assumptions[0]


def test_no_plan_is_an_error_of_the_input() -> None:
    giant = EmbeddingTable(name="giant", rows=10**12, dim=64)
    with pytest.raises(InfeasibleError, match="torchrec finds no plan"):
        plan_with_torchrec([giant], CLUSTER, batch_per_rank=512)
