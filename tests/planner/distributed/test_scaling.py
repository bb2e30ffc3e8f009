"""Throughput over nodes."""

import pytest

from planner.distributed import EmbeddingTable, ShardingPlan
from planner.distributed.iteration import TrainingJob, perceptron
from planner.distributed.scaling import rows_scaled, scaling_curve
from planner.distributed.whatif import Scenario
from profiles.errors import InputError
from tests.planner.distributed.iteration.placed import cluster_of, network_of, table_wise

TABLES = tuple(EmbeddingTable(name=f"t{i}", rows=1000, dim=64, pooling=4) for i in range(8))
JOB = TrainingJob(name="small", tables=TABLES, batch_per_rank=256, top=perceptron((512, 1)))
CLUSTER = cluster_of(4, 2)


def by_hand(scenario: Scenario) -> ShardingPlan:
    return table_wise(scenario.job.tables, scenario.cluster)


def test_the_first_point_is_the_measure_of_the_others() -> None:
    points = scaling_curve(JOB, CLUSTER, (4, 1, 2), plan=by_hand)
    assert [point.nodes for point in points] == [1, 2, 4]
    assert points[0].efficiency == 1.0
    for point in points:
        expected = point.time.qps / points[0].time.qps / point.nodes
        assert point.efficiency == pytest.approx(expected)


def test_a_network_that_costs_nothing_scales_perfectly() -> None:
    points = scaling_curve(JOB, cluster_of(4, 2, network=network_of(1e18)), (1, 4), plan=by_hand)
    assert points[-1].efficiency == pytest.approx(1.0, rel=1e-3)


def test_fewer_nodes_hold_fewer_rows_where_asked() -> None:
    points = scaling_curve(JOB, CLUSTER, (1, 4), plan=by_hand, shrink_rows=True)
    assert [point.plan.tables[0].rows for point in points] == [250, 1000]
    assert rows_scaled(JOB, 1e-9).tables[0].rows == 1


@pytest.mark.parametrize("nodes", [(), (0, 1)])
def test_numbers_of_nodes_that_are_none_are_refused(nodes: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="nodes: must be one or more"):
        scaling_curve(JOB, CLUSTER, nodes, plan=by_hand)
