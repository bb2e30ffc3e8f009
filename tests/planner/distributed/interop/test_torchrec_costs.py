"""Our arithmetic against torchrec's own estimators, shard by shard."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.types import ParameterConstraints, ShardingOption

from planner.distributed import Cluster, EmbeddingTable, get_cluster
from planner.distributed.interop import TorchrecCosts
from planner.distributed.interop.rival import _aliases, _as_plan, _collection, _topology
from planner.distributed.interop.topology import torchrec_figures
from planner.distributed.pieces import pieces_of_placements
from profiles.errors import InputError

TABLES = (
    EmbeddingTable(name="wide", rows=1000, dim=256, pooling=7.5, dtype="float16"),
    EmbeddingTable(name="narrow", rows=333, dim=16, pooling=0.5, optimizer="adam"),
    EmbeddingTable(name="half", rows=40_000, dim=64, pooling=20.0, optimizer="sgd"),
    EmbeddingTable(name="long", rows=999_999, dim=128, pooling=1.0, optimizer="adagrad"),
)
KERNELS = ("fused", "dense", "fused_uvm")


def cluster_of(nodes: int) -> Cluster:
    return replace(get_cluster("zionex"), nodes=nodes, devices_per_node=4)


def options_of(cluster: Cluster) -> Iterator[ShardingOption]:
    types = ["table_wise", "row_wise", "column_wise", "data_parallel", "table_row_wise", "table_column_wise"]
    enumerator = EmbeddingEnumerator(
        topology=_topology(torchrec_figures(cluster)),
        batch_size=512,
        constraints={
            name: ParameterConstraints(
                sharding_types=[*types, "grid_shard"], compute_kernels=list(KERNELS), pooling_factors=[table.pooling]
            )
            for name, table in zip(_aliases(TABLES), TABLES, strict=True)
        },
    )
    for option in enumerator.enumerate(_collection(TABLES), [EmbeddingBagCollectionSharder()]):
        if option.sharding_type != "grid_shard" or len(option.shards) % 4 == 0:
            yield option


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_every_shard_costs_what_torchrec_says(nodes: int) -> None:
    cluster = cluster_of(nodes)
    tables = dict(zip(_aliases(TABLES), TABLES, strict=True))
    seen = set()
    for option in options_of(cluster):
        for rank, shard in enumerate(option.shards):
            shard.rank = rank % cluster.ranks
        table, option.name = tables[option.name], "table_0"
        plan = _as_plan([table], cluster, 512, [option], 0.0, "cluster")
        pieces, _ = pieces_of_placements(plan.placements, cluster, 512)
        costs = TorchrecCosts().price(pieces)
        filled = [shard for shard in option.shards if shard.size[0]]
        assert costs.total_ms == pytest.approx([shard.perf.total for shard in filled])
        assert costs.forward_comm_ms_N == pytest.approx([shard.perf.fwd_comms for shard in filled])
        hbm = [shard.storage.hbm for shard in filled]
        assert costs.tier_bytes_NT[:, 0] == pytest.approx(hbm, rel=1e-6, abs=2)
        assert costs.tier_bytes_NT[:, 1] == pytest.approx([shard.storage.ddr for shard in filled], abs=2)
        seen.add((option.sharding_type, option.compute_kernel))
    assert len(seen) >= 12


def test_what_torchrec_runs_wrongly_is_not_offered() -> None:
    from tests.planner.distributed.interop.small_plans import placed

    cluster = cluster_of(2)
    placements = [
        placed("two", "row_wise", 10, 8, (0, 0, 5, 0, 8), (5, 5, 10, 0, 8), tier="hbm"),
        placed("odd", "column_wise", 10, 8, (0, 0, 10, 0, 3), (5, 0, 10, 3, 8), tier="hbm"),
        placed("fine", "table_wise", 10, 8, (0, 0, 10, 0, 8), tier="hbm"),
    ]
    pieces, _ = pieces_of_placements(placements, cluster, 512)
    assert np.isfinite(TorchrecCosts().price(pieces).total_ms).tolist() == [False] * 4 + [True]


def test_constants_are_the_cluster_s_or_torchrec_s() -> None:
    with pytest.raises(InputError, match="constants: must be 'cluster' or 'torchrec', but got 'v100'"):
        TorchrecCosts(constants="v100")  # type: ignore[arg-type] # wrong on purpose
    assert "a V100's" in TorchrecCosts(constants="torchrec").assumptions[0]
