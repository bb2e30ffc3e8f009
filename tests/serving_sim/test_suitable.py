from dataclasses import replace

from serving_sim.suitable import suitable_policies, why_unsuitable
from serving_sim.testing import small_plan


def test_a_policy_whose_loop_cannot_follow_the_plan_is_left_out() -> None:
    plan = small_plan()
    assert suitable_policies(plan, ("static", "headroom")) == ("static", "headroom")
    failing = replace(plan, devices=(replace(plan.devices[0], warm_up_s=1.0), *plan.devices[1:]))
    assert suitable_policies(failing, ("static", "headroom")) == ("static",)
    assert why_unsuitable(failing, "static") is None
    assert "warm_up_s" in (why_unsuitable(failing, "headroom") or "")
