from dataclasses import replace
from itertools import product

import pytest

from profiles.errors import InputError
from serving_sim.capacity_search import draw_trial
from serving_sim.devices_needed import devices_needed, with_replicas
from serving_sim.plan import Plan
from serving_sim.policies import Batching, PolicyLike, as_policy
from serving_sim.testing import small_plan


def priced(cpu: float | None = 1.0, gpu: float | None = 1.5) -> Plan:
    plan = small_plan()
    prices = {"cpu": cpu, "gpu": gpu}
    return replace(plan, devices=tuple(replace(one, price_per_hour=prices[one.name]) for one in plan.devices))


def cheapest_by_trying_all(plan: Plan, qps: float, most: int, name: PolicyLike = "table-switch") -> float:
    """The price of the cheapest that holds the SLA, without any bound."""
    policy, costs = as_policy(name), []
    for counts in product(range(most + 1), repeat=2):
        fleet = with_replicas(plan.at(qps=qps), counts)
        if fleet is not None and draw_trial(fleet, 5_000).holds(policy, qps):
            costs.append(sum(device.price_per_hour or 0.0 for device in fleet.devices))
    return min(costs)


@pytest.mark.parametrize("qps", [500.0, 3_000.0, 6_000.0])
def test_the_cheapest_is_that_of_trying_all(qps: float) -> None:
    plan = priced()
    found = devices_needed(plan, qps, "table-switch", most=4, queries=5_000, seeds=1)
    assert found.cost_per_hour == pytest.approx(cheapest_by_trying_all(plan, qps, 4))
    assert found.tried + found.ruled_out <= 24


def test_so_it_is_where_queries_are_served_in_batches() -> None:
    plan, policy = priced(), Batching(most_samples=2000, wait_ms=1.0)
    found = devices_needed(plan, 2_000.0, policy, most=2, queries=5_000, seeds=1)
    assert found.cost_per_hour == pytest.approx(cheapest_by_trying_all(plan, 2_000.0, 2, policy))


def test_a_cost_per_million_follows_from_price_and_right_predictions() -> None:
    found = devices_needed(priced(), 2_000.0, "table-switch", most=3, queries=5_000)
    assert found.cost_per_hour is not None
    right_per_hour = found.correct_predictions_in_sla_per_s * 3600
    assert found.cost_per_million_correct == pytest.approx(found.cost_per_hour / right_per_hour * 1e6)


def test_a_dear_device_is_left_out() -> None:
    found = devices_needed(priced(gpu=100.0), 1_000.0, "table-switch", most=6, queries=5_000)
    assert found.replicas["gpu"] == 0
    assert found.replicas["cpu"] > 0


def test_one_replica_down_asks_for_one_more_at_least() -> None:
    plain, spare = (
        devices_needed(priced(), 1_000.0, "table-switch", most=6, queries=5_000, n_plus_one=spare)
        for spare in (False, True)
    )
    assert sum(spare.replicas.values()) > sum(plain.replicas.values())
    assert (spare.cost_per_hour or 0) > (plain.cost_per_hour or 0)


def test_without_prices_the_fewest_replicas_are_sought() -> None:
    found = devices_needed(priced(cpu=None), 500.0, "table-switch", most=3, queries=5_000)
    assert sum(found.replicas.values()) == 1
    assert found.cost_per_hour is None
    assert "no price" in found.note


def test_an_sla_that_nothing_meets_is_told_with_the_gap() -> None:
    found = devices_needed(priced().at(sla_ms=0.1), 100.0, "table-switch", most=2, queries=2_000)
    assert found.replicas == {}
    assert "nothing can meet it" in found.note


def test_a_rate_beyond_the_most_replicas_is_told_with_what_they_hold() -> None:
    found = devices_needed(priced(), 1e6, "table-switch", most=2, queries=2_000)
    assert found.tried == 0
    assert "with 2 replicas of each device the SLA holds up to" in found.note


def test_a_device_of_none_goes_with_its_paths_and_replicas_multiply() -> None:
    fleet = with_replicas(priced(), (3, 0))
    assert fleet is not None
    assert {path.device for path in fleet.paths} == {"cpu"}
    assert (fleet.devices[0].servers, fleet.devices[0].price_per_hour, fleet.devices[0].busy_w) == (6, 3.0, 300.0)
    assert with_replicas(priced(), (0, 0)) is None


@pytest.mark.parametrize("most", [0, 500])
def test_the_most_is_checked(most: int) -> None:
    with pytest.raises(InputError, match="most"):
        devices_needed(priced(), 100.0, most=most)
