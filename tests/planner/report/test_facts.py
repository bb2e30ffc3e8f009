from dataclasses import replace
from typing import Any

import pytest

from planner.report.facts import best_policy, serving_facts
from planner.report.inputs import ServingInputs
from serving_sim.plan import Workload
from tests.planner.report.sample import capacity, sample_plan, sample_serving, simulation


def test_paths_that_took_no_query_do_not_count() -> None:
    facts = serving_facts(sample_plan().to_object(), sample_serving())
    assert [path.name for path in facts.policies[0].paths] == ["hybrid@gpu", "table@cpu"]


def test_a_policy_is_graded_by_the_weakest_path_that_it_used() -> None:
    facts = serving_facts(sample_plan().to_object(), sample_serving())
    assert [policy.provenance for policy in facts.policies] == ["estimated", "predicted", "predicted"]


def test_cost_is_the_hourly_price_over_the_predictions_of_an_hour() -> None:
    facts = serving_facts(sample_plan().to_object(), sample_serving())
    cost = facts.cost_per_million(facts.policies[0])
    assert cost == pytest.approx((0.10 + 1.20) / (1000 * 128 * 3600) * 1e6)


def test_a_device_without_a_price_leaves_the_cost_unknown() -> None:
    plan = sample_plan()
    free = replace(plan, devices=(replace(plan.devices[0], price_per_hour=None), plan.devices[1]))
    facts = serving_facts(free.to_object(), sample_serving())
    assert facts.cost_per_million(facts.policies[0]) is None


def test_the_tail_is_that_of_the_sla() -> None:
    plan = replace(sample_plan(), workload=Workload(qps=1000, sla_ms=10, percentile=95))
    facts = serving_facts(plan.to_object(), sample_serving())
    assert (facts.tail, facts.policies[0].tail_ms) == (95, 3.9)


def test_a_percentile_that_no_run_reports_falls_back_to_p99() -> None:
    plan = replace(sample_plan(), workload=Workload(qps=1000, sla_ms=10, percentile=97))
    assert serving_facts(plan.to_object(), sample_serving()).tail == 99


def test_holding_the_sla_comes_before_being_right_more_often() -> None:
    late = simulation("late", {"dhe@cpu": 1.0}, sla_violation_share=0.02, correct_predictions_in_sla_per_s=2e5)
    serving = ServingInputs(simulations=(late, simulation("in time", {"table@cpu": 1.0})))
    best = best_policy(serving_facts(sample_plan().to_object(), serving).policies)
    assert best is not None
    assert best.label == "in time"


def test_equally_right_policies_are_told_apart_by_capacity() -> None:
    serving = ServingInputs(
        simulations=(simulation("a", {"table@cpu": 1.0}), simulation("b", {"dhe@cpu": 1.0})),
        capacity={"policies": [capacity("a", 1200), capacity("b", 1300)]},
    )
    best = best_policy(serving_facts(sample_plan().to_object(), serving).policies)
    assert best is not None
    assert best.label == "b"


def routed(label: str, correct: float, max_qps: float, *, first: float = 0.6) -> dict[str, Any]:
    shares = {"table@cpu": first, "dhe@cpu": 1 - first}
    row = simulation(label, shares, correct_predictions_in_sla_per_s=correct)
    return {"row": row, "capacity": capacity(label, max_qps)}


def best_label(*runs: dict[str, Any]) -> str:
    serving = ServingInputs(
        simulations=tuple(run["row"] for run in runs), capacity={"policies": [run["capacity"] for run in runs]}
    )
    best = best_policy(serving_facts(sample_plan().to_object(), serving).policies)
    assert best is not None
    return best.label


def test_a_lead_within_the_noise_does_not_beat_more_than_twice_the_capacity() -> None:
    assert best_label(routed("right", 100_400, 1000), routed("strong", 100_000, 2100)) == "strong"
    assert best_label(routed("right", 100_400, 1000), routed("strong", 100_000, 1900)) == "right"
    assert best_label(routed("right", 100_600, 1000), routed("strong", 100_000, 9000)) == "right"


def test_a_policy_that_routes_nothing_gives_way_to_its_static_path() -> None:
    lone = routed("router", 100_400, 1500, first=0.9995)
    static = {"row": simulation("static", {"table@cpu": 1.0}), "capacity": capacity("static", 1200)}
    assert best_label(lone, static) == "static"
    assert best_label(lone, {**static, "row": {**static["row"], "sla_violation_share": 0.5}}) == "router"
    assert best_label(routed("router", 110_000, 1500, first=0.99), static) == "router"


def test_capacity_rests_on_every_path_and_device_that_a_policy_may_use() -> None:
    row = simulation("mp-rec", {"table@cpu": 0.5, "dhe@cpu": 0.5, "hybrid@gpu": 0.0})
    facts = serving_facts(sample_plan().to_object(), ServingInputs(simulations=(row,)))
    (policy,) = facts.policies
    assert (policy.provenance, policy.capacity_provenance) == ("predicted", "estimated")
    assert policy.devices == ("cpu", "gpu")
    assert policy.price_per_hour == pytest.approx(1.30)


def test_an_overloaded_run_is_told_by_its_verdict() -> None:
    serving = ServingInputs(simulations=(simulation("a", {"dhe@cpu": 1.0}, verdict="overloaded"),))
    (policy,) = serving_facts(sample_plan().to_object(), serving).policies
    assert policy.tail_text == "overloaded"


def test_no_policies_have_no_best() -> None:
    assert best_policy(()) is None
