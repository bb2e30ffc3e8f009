from dataclasses import replace

import pytest

from profiles.errors import InputError
from serving_sim.plan import Cache, Device, Plan, PolicyChoice, Shard
from serving_sim.replay.servable import servable_part
from tests.serving_sim.replay.plans import real_plan


def with_path(plan: Plan, **changes: object) -> Plan:
    first, *others = plan.paths
    return replace(plan, paths=(replace(first, **changes), *others))  # type: ignore[arg-type]  # named by each test


def with_device(plan: Plan, **changes: object) -> Plan:
    first, *others = plan.devices
    return replace(plan, devices=(replace(first, **changes), *others))  # type: ignore[arg-type]  # as above


def test_paths_of_a_device_that_is_not_here_are_left_out_and_named() -> None:
    part = servable_part(real_plan())
    assert [path.name for path in part.plan.paths] == ["table@cpu", "dhe@cpu"]
    assert [device.name for device in part.plan.devices] == ["cpu"]
    assert part.skipped == ("table@gpu is not served: device gpu (v100) is not this machine's processor",)


def test_a_path_without_a_model_with_a_cache_or_with_shards_is_left_out() -> None:
    plan = replace(real_plan(), caches=(Cache(name="c", capacity_bytes=64, entry_bytes=16),))
    shard = Shard(device="cpu", latency=plan.paths[0].latency)
    assert "no model of it" in servable_part(with_path(plan, model=None)).skipped[0]
    assert "looks into the cache c" in servable_part(with_path(plan, cache="c")).skipped[0]
    assert "shards" in servable_part(with_path(plan, shards=(shard,))).skipped[0]


@pytest.mark.parametrize("changes", [{"kind": "v100"}, {"state": "failed"}, {"warm_up_s": 1.0}])
def test_a_plan_of_which_no_path_is_left_is_refused_with_the_reasons(changes: dict[str, object]) -> None:
    with pytest.raises(InputError, match="none can be served on this machine; table@cpu is not served: "):
        servable_part(with_device(real_plan(), **changes))


def test_a_policy_that_routes_to_what_is_left_out_is_refused_with_a_way_out() -> None:
    plan = replace(real_plan(), policy=PolicyChoice(name="static", options={"path": "table@gpu"}))
    with pytest.raises(InputError, match=r"unknown name 'table@gpu'.*not this machine's processor.*--policy"):
        servable_part(plan)
    assert servable_part(plan, "mp-rec").plan.paths


def test_a_device_without_a_kind_is_this_machine() -> None:
    assert Device(name="d").kind == ""
    assert len(servable_part(with_device(real_plan(), kind="")).plan.paths) == 2


@pytest.mark.parametrize("policy", ["split", "batching"])
def test_a_policy_that_cuts_or_joins_queries_is_refused(policy: str) -> None:
    with pytest.raises(InputError, match=f"{policy} is simulated only"):
        servable_part(real_plan(), policy)
