from dataclasses import replace

import pytest

from profiles.errors import InputError, UnknownNameError
from serving_sim.plan import Shard
from serving_sim.reliability import closed_paths, plans_without_one_device, without_device
from serving_sim.testing import small_plan


def test_a_device_goes_with_its_paths_and_the_seed_stays() -> None:
    left = without_device(small_plan(seed=3), "gpu")
    assert [device.name for device in left.devices] == ["cpu"]
    assert {path.device for path in left.paths} == {"cpu"}
    assert left.seed == 3


def test_a_path_goes_with_the_device_of_one_of_its_shards() -> None:
    plan = small_plan()
    sharded = replace(plan.paths[0], shards=(Shard(device="gpu", latency=plan.paths[3].latency),))
    left = without_device(replace(plan, paths=(sharded, *plan.paths[1:])), "gpu")
    assert [path.name for path in left.paths] == ["dhe-cpu", "hybrid-cpu"]


def test_a_device_must_be_there_and_leave_a_path() -> None:
    plan = small_plan()
    with pytest.raises(UnknownNameError, match="fail"):
        without_device(plan, "tpu")
    with pytest.raises(InputError, match="fail: no path is left without cpu"):
        without_device(replace(plan, paths=plan.paths[:3]), "cpu")


def test_each_device_has_the_plan_that_is_left_without_it() -> None:
    plan = small_plan()
    assert [left and len(left.paths) for _, left in plans_without_one_device(plan)] == [3, 3]
    assert [left and len(left.paths) for _, left in plans_without_one_device(replace(plan, paths=plan.paths[:3]))] == [
        None,
        3,
    ]


def test_paths_of_a_failed_device_are_closed() -> None:
    plan = small_plan()
    assert closed_paths(plan) == frozenset()
    failed = replace(plan, devices=(plan.devices[0], replace(plan.devices[1], state="failed")))
    assert closed_paths(failed) == {"table-gpu", "dhe-gpu", "hybrid-gpu"}
