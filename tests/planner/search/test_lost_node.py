"""A cluster of three nodes that loses one in mid-search."""

import time
from functools import partial
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from planner.search import RayTrials, RungStep, Trained, run_search
from planner.search.candidate import candidate_key
from profiles.errors import InputError
from representations.specs import ModelSpec
from tests.planner.search.closed_form import RungedTrainer, make_task, predict

pytestmark = pytest.mark.slow
QUICK_TO_NOTICE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
    "health_check_timeout_ms": 500,
}


class Slow(RungedTrainer):
    """Takes its time, so that some trainings run on every node."""

    def train_rung(self, spec: ModelSpec, seed: int, step: RungStep) -> Trained:
        time.sleep(0.5)
        return super().train_rung(spec, seed, step)


def test_a_search_outlives_a_node_of_its_cluster(tmp_path: Path) -> None:
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": QUICK_TO_NOTICE, "num_gpus": 0}
    )
    nodes = [cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1, resources={"cell": 1})]
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        with RayTrials(Slow(), resources={"cell": 1.0}) as one_cell:
            assert one_cell.slots == 1
        with pytest.raises(InputError, match="needs 1 GPU, but the cluster has 0"), RayTrials(Slow(), gpus_per_trial=1):
            pass
        lost: list[object] = []

        def lose_a_node(_: object) -> None:
            if not lost:
                lost.append(nodes[0])
                cluster.remove_node(nodes[0], allow_graceful=False)

        executor = partial(RayTrials, slots=3)
        result = run_search(
            make_task(),
            predict,
            Slow(),
            directory=tmp_path,
            trials=6,
            sampler="guided",
            executor=executor,
            progress=lose_a_node,
        )
    finally:
        ray.shutdown()
        cluster.shutdown()  # type: ignore[no-untyped-call]  # Ray leaves it untyped
    assert lost
    assert sum(trial.state == "failed" for trial in result.trials) == 0
    assert len(result.feasible) >= 3
    assert len({candidate_key(trial.model) for trial in result.trials}) == len(result.trials)
