from dataclasses import replace

from serving_sim.plan import LatencyTable, Shard
from serving_sim.suitable import suitable_policies, why_unsuitable
from serving_sim.testing import small_plan


def test_a_policy_whose_loop_cannot_follow_the_plan_is_left_out() -> None:
    plan = small_plan()
    assert suitable_policies(plan, ("static", "split")) == ("static", "split")
    shard = Shard(device="gpu", latency=LatencyTable(sizes=(1,), mean_ms=(0.1,)))
    sharded = replace(plan, paths=tuple(replace(path, shards=(shard,)) for path in plan.paths))
    assert suitable_policies(sharded, ("static", "split")) == ("static",)
    assert why_unsuitable(sharded, "static") is None
    assert "shards" in (why_unsuitable(sharded, "split") or "")
