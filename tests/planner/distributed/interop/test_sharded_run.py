"""Exported plans, run for real: outputs must be those of the model in one piece, by key."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.distributed import EmbeddingTable, ShardingPlan, TableConstraint, plan_sharding
from planner.distributed.comms import read_trace
from planner.distributed.interop import RunnableCosts, export_plan
from tests.planner.distributed.interop.small_plans import Block, placed, plan_of, small_cluster

ROOT = Path(__file__).parents[4]


def worst_difference(plan: ShardingPlan, folder: Path, *, fused: bool = False) -> float:
    """Over ranks and tables, sharded less in one piece; where the optimizer is fused, after a step of it too."""
    export_plan(plan, device="cpu", fused=fused).save(folder / "export.json")
    command = [sys.executable, "-W", "ignore", "-m", "tests.planner.distributed.interop.sharded_rank"]
    command += [str(folder / "export.json"), str(folder / "store"), str(folder)]
    surroundings = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    cluster = plan.cluster
    started = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={
                **surroundings,
                "RANK": str(rank),
                "WORLD_SIZE": str(cluster.ranks),
                "LOCAL_RANK": str(rank % cluster.devices_per_node),
                "LOCAL_WORLD_SIZE": str(cluster.devices_per_node),
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(cluster.ranks)
    ]
    try:
        for process in started:
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said[-2000:]
    finally:
        for process in started:
            process.kill()
    rows = [json.loads((folder / f"off-{rank}.json").read_text()) for rank in range(cluster.ranks)]
    assert all(set(row) == {f"f_{table.name}" for table in plan.tables} for row in rows)
    return max(float(value) for row in rows for value in row.values())


@pytest.mark.slow
def test_every_scheme_gives_the_outputs_of_the_model_in_one_piece(tmp_path: Path) -> None:
    plan = plan_of(
        small_cluster(1, 2),
        placed("table", "table_wise", 50, 8, (1, 0, 50, 0, 8)),
        placed("columns", "column_wise", 40, 16, (1, 0, 40, 0, 12), (0, 0, 40, 12, 16)),
        placed("rows", "row_wise", 101, 8, (0, 0, 51, 0, 8), (1, 51, 101, 0, 8)),
        placed("host", "table_row_wise", 60, 8, (0, 0, 30, 0, 8), (1, 30, 60, 0, 8)),
        placed("host_columns", "table_column_wise", 30, 8, (0, 0, 30, 0, 4), (1, 0, 30, 4, 8)),
        placed("copies", "data_parallel", 20, 8, (0, 0, 20, 0, 8), (1, 0, 20, 0, 8)),
        placed("both", "grid", 40, 16, (0, 0, 20, 0, 8), (1, 20, 40, 0, 8), (0, 0, 20, 8, 16), (1, 20, 40, 8, 16)),
    )
    assert worst_difference(plan, tmp_path) < 1e-6
    called = {call.collective for call in read_trace(tmp_path / "trace-0.json")}
    assert {"all_to_all", "reduce_scatter", "all_gather", "all_reduce"} >= called >= {"all_to_all", "reduce_scatter"}


@pytest.mark.slow
def test_hosts_of_two_ranks_split_tables_by_host(tmp_path: Path) -> None:
    def quarter(rank: int) -> Block:
        row, column = 20 * (rank % 2), 8 * (rank // 2)
        return (rank, row, row + 20, column, column + 8)

    plan = plan_of(
        small_cluster(2, 2),
        placed("second_host", "row_wise", 61, 8, (2, 0, 31, 0, 8), (3, 31, 61, 0, 8)),
        placed("grid", "grid", 40, 16, *map(quarter, range(4))),
        placed("all", "row_wise", 40, 8, *[(rank, 10 * rank, 10 * rank + 10, 0, 8) for rank in range(4)]),
    )
    assert worst_difference(plan, tmp_path) < 1e-6


@pytest.mark.slow
def test_a_plan_of_the_search_runs_and_trains_as_the_model_in_one_piece(tmp_path: Path) -> None:
    tables = [EmbeddingTable(name=f"t{i}", rows=37 * (i + 1), dim=16 + 8 * (i % 2), pooling=3.0) for i in range(7)]
    plan = plan_sharding(
        tables,
        small_cluster(1, 2),
        batch_per_rank=8,
        costs=RunnableCosts(),
        # Copies are not fused, and trained by whatever trains the dense layers.
        constraints=[TableConstraint(table="*", schemes=("table_wise", "row_wise", "column_wise"))],
    )
    assert worst_difference(plan, tmp_path, fused=True) < 1e-5
