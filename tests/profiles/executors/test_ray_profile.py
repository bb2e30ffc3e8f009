import logging
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from profiles.errors import InputError, MeasurementError
from profiles.executors.ray_profile import profile_on_ray
from profiles.part_file import PARTS_FILE
from profiles.profile_options import ProfileOptions, ProfileProgress
from tests.profiles.dying_models import dying_alone, dying_once, growing, plain, unloadable

PATHS = ["", "(self)", "0", "1", "2"]


# A node's death is noticed within seconds.
HEALTH_CHECKS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
    "health_check_timeout_ms": 500,
}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": HEALTH_CHECKS})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def options(folder: Path | None = None) -> ProfileOptions:
    return ProfileOptions(budget_s=0.1, threads=1, folder=folder)


class StoppedError(Exception):
    pass


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_and_another_finishes(tmp_path: Path) -> None:
    marker, told = tmp_path / "marker", list[ProfileProgress]()
    load = partial(dying_once, marker)
    profile = profile_on_ray("dying", load, options=options(tmp_path), progress=told.append)
    assert marker.exists()
    assert [row.path for row in profile.rows] == PATHS
    assert {row.provenance for row in profile.rows} == {"measured"}
    assert [now.done for now in told] == [1, 2, 3, 4]
    assert len((tmp_path / PARTS_FILE).read_text().splitlines()) == 4


@pytest.mark.slow
def test_an_interrupted_profile_goes_on_with_what_was_finished(tmp_path: Path) -> None:
    def stop(now: ProfileProgress) -> None:
        raise StoppedError(now.path)

    with pytest.raises(StoppedError):
        profile_on_ray("plain", plain, options=options(tmp_path), progress=stop)
    before = (tmp_path / PARTS_FILE).read_text()
    told: list[ProfileProgress] = []
    profile = profile_on_ray("plain", plain, options=options(tmp_path), progress=told.append)
    assert len(before.splitlines()) == 1
    assert (tmp_path / PARTS_FILE).read_text().startswith(before)
    assert told[-1].total == len(profile.modules) - 1


@pytest.mark.slow
def test_parts_of_a_model_that_has_changed_since_are_measured_again(tmp_path: Path) -> None:
    profile_on_ray("plain", plain, options=options(tmp_path))
    told: list[ProfileProgress] = []
    changed = profile_on_ray("plain", partial(plain, width=16), options=options(tmp_path), progress=told.append)
    assert told[-1].total == len(changed.modules)
    assert {row.spec for row in changed.modules if row.class_name == "Linear"} == {
        '{"class": "Linear", "spec": "in_features=16, out_features=16, bias=True", "inputs": ["(float32[2, 16])"]}'
    }


@pytest.mark.slow
def test_workers_that_hold_different_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="the workers hold different models"):
        profile_on_ray("growing", partial(growing, tmp_path), options=options())


@pytest.mark.slow
def test_a_module_at_which_workers_die_gets_a_row_that_says_so() -> None:
    profile = profile_on_ray("dying", dying_alone, options=options(), retries=0)
    rows = {row.path: row for row in profile.rows}
    assert rows["1.child"].provenance == "skipped"
    assert rows["1.child"].reason.startswith("workers died at it once: ")
    assert rows["1"].provenance == rows["0"].provenance == "measured"


@pytest.mark.slow
def test_a_worker_that_is_killed_while_idle_is_replaced(tmp_path: Path) -> None:
    def kill_one(now: ProfileProgress) -> None:
        if now.done == 1:
            marked = [int(name.name) for name in (tmp_path / "processes").iterdir()]
            os.kill(marked[0], signal.SIGKILL)

    load = partial(plain, tmp_path / "processes")
    profile = profile_on_ray("plain", load, options=options(), progress=kill_one)
    assert {row.provenance for row in profile.rows} == {"measured"}


@pytest.mark.slow
def test_a_target_that_cannot_be_loaded_is_told_as_here() -> None:
    with pytest.raises(InputError, match="no such weights"):
        profile_on_ray("unloadable", unloadable, options=options())


@pytest.mark.slow
def test_a_device_that_the_cluster_lacks_is_a_measurement_error() -> None:
    with pytest.raises(MeasurementError, match="no worker could be started: the cluster has no such device"):
        profile_on_ray("plain", plain, device="h100", options=options())


@pytest.mark.slow
def test_a_node_that_is_killed_loses_nothing_that_was_finished(cluster: Any, tmp_path: Path) -> None:
    def kill_node(now: ProfileProgress) -> None:
        if now.done == 1:
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)

    profile = profile_on_ray("plain", plain, options=options(tmp_path), progress=kill_node)
    assert {row.provenance for row in profile.rows} == {"measured"}
    assert len((tmp_path / PARTS_FILE).read_text().splitlines()) == len(profile.modules)


@pytest.mark.slow
def test_which_modules_take_too_little_time_is_decided_once() -> None:
    profile = profile_on_ray("plain", plain, options=replace(options(), min_share=1.0))
    assert {row.path for row in profile.modules if row.provenance == "measured"} <= {""}
    assert all(row.reason.startswith("not run alone") for row in profile.modules if row.path)
