from dataclasses import replace

import pytest

from planner.pipeline.serving import best_static, compared_policies, serve_plan
from planner.progress import QuietProgress
from serving_sim.plan import Plan, PolicyChoice
from serving_sim.policies import as_policy, policy_label
from serving_sim.testing import small_plan


@pytest.fixture
def plan() -> Plan:
    return small_plan().at(queries=3000)


def labels(plan: Plan) -> list[str]:
    return [policy_label(as_policy(policy)) for policy in compared_policies(plan)]


def test_each_policy_is_compared_once_and_the_plan_s_own_is_among_them(plan: Plan) -> None:
    found = labels(replace(plan, policy=PolicyChoice(name="table-switch")))
    assert len(set(found)) == len(found)
    assert {"table-switch", "mp-rec", "mp-rec (predicate=finish-in-sla)", "headroom"} <= set(found)
    assert any(label.startswith("static") for label in found)


def test_table_switching_is_left_out_where_there_is_no_table(plan: Plan) -> None:
    without = tuple(path for path in plan.paths if path.representation != "table")
    assert "table-switch" not in labels(replace(plan, paths=without))


def test_beside_an_estimated_path_stands_the_best_that_is_none(plan: Plan) -> None:
    best = best_static(plan, plan.paths).options["path"]
    paths = tuple(replace(path, provenance="estimated" if path.name == best else "predicted") for path in plan.paths)
    statics = [label for label in labels(replace(plan, paths=paths)) if label.startswith("static")]
    assert len(statics) == 2


def test_the_best_path_of_an_overload_is_the_one_that_serves_most(plan: Plan) -> None:
    flood = plan.at(qps=50_000.0)
    paths = tuple(path for path in reversed(plan.paths) if path.device == "cpu")
    assert best_static(flood, paths).options["path"] == "table-cpu"


def test_serving_tells_the_best_policy_and_sweeps_past_every_capacity(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.pipeline.serving._CAPACITY_QUERIES", 5000)
    monkeypatch.setattr("planner.pipeline.serving._SWEEP_QUERIES", 5000)
    serving = serve_plan(plan, QuietProgress())
    assert serving.best in serving.results
    assert len(serving.slas) == 10
    assert {row["policy"] for row in serving.slas} == {serving.best}
    rates: list[float] = serving.load["qps"].to_list()
    assert min(rates) < plan.workload.qps < max(rates)
    assert max(rates) > max(policy.max_qps for policy in serving.capacity.policies)
    spare = [policy.policy for policy in serving.capacity.policies if policy.n_plus_one is not None]
    assert spare == [serving.best]
    inputs = serving.to_inputs()
    assert len(inputs.violations) < len(inputs.load)
    assert {row["policy"] for row in inputs.cost} == set(serving.results)
