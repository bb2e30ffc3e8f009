import pytest

from profiles.errors import InputError
from serving_sim.engine import trace_run
from serving_sim.policies import AccuracyFloor, Policy
from serving_sim.testing import PolicyContract, small_plan


class TestAccuracyFloor(PolicyContract):
    def make(self) -> Policy:
        return AccuracyFloor(floor=0.7885)


class TestAccuracyFloorThatFallsBack(PolicyContract):
    def make(self) -> Policy:
        return AccuracyFloor(floor=0.7885, fall_back=True)


def representations(policy: Policy, qps: float = 400.0) -> set[str]:
    plan = small_plan(qps=qps)
    return {plan.paths[int(path)].representation for path in trace_run(plan, policy=policy).path_N}


def test_takes_only_paths_that_are_accurate_enough() -> None:
    assert representations(AccuracyFloor(floor=0.7895), qps=5000) == {"hybrid"}
    assert "table" in representations(AccuracyFloor())


def test_a_floor_above_all_paths_takes_the_most_accurate_and_says_so() -> None:
    with pytest.warns(UserWarning, match=r"no path reaches 0\.99; the most accurate \(0\.7898\) stand in"):
        assert representations(AccuracyFloor(floor=0.99)) == {"hybrid"}


def test_falls_back_to_any_path_where_none_holds_the_sla() -> None:
    assert "table" in representations(AccuracyFloor(floor=0.7895, fall_back=True), qps=5000)
    assert "table" not in representations(AccuracyFloor(floor=0.7895), qps=5000)


def test_the_floor_is_checked() -> None:
    with pytest.raises(InputError, match=r"floor: must be in \[0, 1\]"):
        AccuracyFloor(floor=1.5)
