"""Charts of distributed training: their rows by value, their specs by what they draw."""

import json

import pytest

from planner.distributed import EmbeddingTable
from planner.distributed.charts import (
    WAITING,
    load_chart,
    load_rows,
    scaling_chart,
    scaling_rows,
    sensitivity_chart,
    timeline_chart,
    timeline_ranks,
    timeline_rows,
)
from planner.distributed.iteration import IterationTime, TrainingJob, perceptron, predict_iteration
from planner.distributed.scaling import scaling_curve
from tests.planner.distributed.iteration.placed import cluster_of, table_wise

TABLES = tuple(EmbeddingTable(name=f"t{i}", rows=1000, dim=64, pooling=4 + 20 * i) for i in range(4))
JOB = TrainingJob(name="small", tables=TABLES, batch_per_rank=256, top=perceptron((256, 64, 1)))
PLAN = table_wise(TABLES, cluster_of(2, 2))


@pytest.fixture(scope="module")
def time() -> IterationTime:
    return predict_iteration(JOB, PLAN)


def test_the_timeline_shows_who_is_waited_for_and_who_waits(time: IterationTime) -> None:
    ranks = timeline_ranks(time, 2)
    assert 3 in ranks
    assert len(ranks) == 2
    rows = timeline_rows(time, (0, 3))
    waits = {(row["rank"], row["task"]) for row in rows if row["kind"] == WAITING}
    assert (0, "AlltoAll") in waits
    assert (3, "AlltoAll") not in waits
    assert all(row["taken_ms"] == row["end_ms"] - row["start_ms"] for row in rows)


def test_the_critical_path_has_a_dark_edge(time: IterationTime) -> None:
    rows = timeline_rows(time)
    critical = sum(row["taken_ms"] for row in rows if row["is_critical"])
    assert critical == pytest.approx(time.iteration_ms)
    spec = timeline_chart(rows).to_dict()
    assert spec["spec"]["encoding"]["stroke"]["condition"]["test"] == "datum.is_critical"
    assert spec["facet"]["row"]["field"] == "rank"


def test_the_scaling_chart_has_points_and_what_is_ideal(time: IterationTime) -> None:
    points = scaling_curve(JOB, time.cluster, (1, 2), plan=lambda one: table_wise(one.job.tables, one.cluster))
    rows = scaling_rows({"small": points})
    assert [row["nodes"] for row in rows] == [1, 2]
    assert rows[1]["ideal_qps"] == pytest.approx(2 * rows[0]["qps"])
    assert {"qps", "ideal_qps"} <= {layer["encoding"]["y"]["field"] for layer in scaling_chart(rows).to_dict()["layer"]}


def test_the_load_of_each_rank_stands_beside_the_bound(time: IterationTime) -> None:
    rows = load_rows(PLAN, time)
    assert [row["rank"] for row in rows] == [0, 1, 2, 3]
    assert rows[0]["hbm_bytes"] == TABLES[0].total_bytes
    assert rows[0]["waiting_ms"] > rows[3]["waiting_ms"]
    assert "waiting_ms" not in load_rows(PLAN)[0]
    assert "no plan is below" in json.dumps(load_chart(rows).to_dict())


def test_constants_are_bars_from_the_iteration_as_it_is() -> None:
    row = {"constant": "host link", "factor": 2.0, "divided_ms": 3.0, "multiplied_ms": 1.0, "base_ms": 2.0}
    spec = sensitivity_chart([row]).to_dict()
    (data,) = spec["datasets"].values()
    assert [(one["change"], one["ms"]) for one in data] == [("divided by 2", 3.0), ("times 2", 1.0)]
