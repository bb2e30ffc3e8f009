from dataclasses import replace

from serving_sim.plan import IdleGap
from serving_sim.suitable import suitable_policies
from serving_sim.testing import small_plan


def test_a_policy_whose_loop_cannot_follow_the_plan_is_left_out() -> None:
    plan = small_plan()
    assert suitable_policies(plan, ("static", "headroom")) == ("static", "headroom")
    cold = replace(plan.paths[0].latency, idle_gap=IdleGap(after_ms=8.0, factor=1.35))
    slow = replace(plan, paths=(replace(plan.paths[0], latency=cold), *plan.paths[1:]))
    assert suitable_policies(slow, ("static", "headroom")) == ("static",)
