"""Which constants matter, and what planning for other hardware costs."""

from dataclasses import replace

import pytest

from planner.distributed import EmbeddingTable, ShardingPlan
from planner.distributed.iteration import TrainingJob, perceptron
from planner.distributed.sensitivity import hardware_constants, planned_for_other_hardware, sensitivity
from planner.distributed.whatif import Scenario
from profiles.errors import InputError
from tests.planner.distributed.iteration.placed import cluster_of, table_wise

TABLES = tuple(EmbeddingTable(name=f"t{i}", rows=1000, dim=256, pooling=4) for i in range(4))
JOB = TrainingJob(name="small", tables=TABLES, batch_per_rank=4096, top=perceptron((64, 1)))


def test_the_network_s_alltoall_matters_most_where_it_takes_longest() -> None:
    found = sensitivity(JOB, table_wise(TABLES, cluster_of(2, 2)))
    assert found[0].constant == "all_to_all between nodes"
    assert -1 <= found[0].elasticity < -0.5
    by_name = {one.constant: one for one in found}
    assert by_name["all_gather between nodes"].elasticity == 0
    assert by_name["latency between nodes"].elasticity >= 0


def test_one_node_has_no_network_between_nodes() -> None:
    names = hardware_constants(cluster_of(1, 2))
    assert not [name for name in names if name.endswith("between nodes")]
    assert "all_to_all in nodes" in names


def test_every_constant_scales_by_itself() -> None:
    cluster = cluster_of(2, 2, launch_s=1e-6)
    for name, scale in hardware_constants(cluster).items():
        assert (scale(cluster, 3.0) != cluster) == (not name.startswith(("latency", "half"))), name
        assert scale(cluster, 1.0) == cluster, name


@pytest.mark.parametrize("factor", [1.0, 0.5, float("inf")])
def test_a_factor_that_changes_nothing_is_refused(factor: float) -> None:
    with pytest.raises(InputError, match="factor: must be finite and > 1"):
        sensitivity(JOB, table_wise(TABLES, cluster_of()), factor=factor)


def test_a_plan_for_other_hardware_runs_on_the_own_one() -> None:
    scenario = Scenario(job=JOB, cluster=cluster_of(2, 2))
    believed = replace(scenario.cluster, host_to_device_bytes_per_s=1.0)

    def plan(one: Scenario) -> ShardingPlan:
        ranks = [0, 0, 1, 1] if one.cluster == believed else [0, 1, 2, 3]
        return table_wise(one.job.tables, one.cluster, ranks=ranks)

    own_ms, other_ms = planned_for_other_hardware(scenario, believed, plan=plan)
    assert other_ms > own_ms
