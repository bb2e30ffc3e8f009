from dataclasses import replace

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


def test_no_policies_have_no_best() -> None:
    assert best_policy(()) is None
