from dataclasses import replace

import pytest

from serving_sim.engine import SimulationOptions, simulate
from serving_sim.plan import Arrivals, Diurnal, Outage, Plan, QueryClass, Spike
from serving_sim.policies import Batching
from serving_sim.testing import small_plan


def share_of(plan: Plan, policy: str = "headroom") -> float:
    return simulate(plan, policy=policy).fluid_bound_share or 0.0


def test_a_class_with_a_tight_sla_earns_nothing_at_a_loose_one() -> None:
    plan = small_plan(qps=50, queries=4_000)
    tight = QueryClass(name="tight", share=0.5, sla_ms=1e-3)
    classes = (tight, QueryClass(name="loose", share=0.5, sla_ms=1e4))
    # Half of the load can never be in time: at one SLA for all the share would be a half.
    assert share_of(plan.at(classes=classes), "mp-rec") > 0.9


def test_prices_per_window_come_closer_where_load_comes_in_waves() -> None:
    plan = small_plan(qps=2_000, queries=6_000).at(arrivals=Arrivals(diurnal=Diurnal(amplitude=0.9, period_s=1.0)))
    steady = small_plan(qps=2_000, queries=6_000)
    assert share_of(plan) > 0.85
    assert share_of(steady) > share_of(plan) - 0.05


def test_an_outage_is_not_time_that_could_be_used() -> None:
    plan = small_plan(qps=3_000, queries=6_000)
    down = (Outage(start_s=0.2, end_s=1.8),)
    dead = replace(plan, devices=tuple(replace(device, outages=down) for device in plan.devices))
    assert share_of(dead, "mp-rec") > 0.3
    assert share_of(dead, "mp-rec") <= 1


def test_a_spike_and_a_long_run_leave_one_price() -> None:
    spike = Spike(start_s=0.1, duration_s=0.1, factor=3.0)
    plan = small_plan(qps=1_000, queries=101_000).at(arrivals=Arrivals(spikes=(spike,)))
    assert 0 < share_of(plan, "mp-rec") <= 1


def test_batches_lower_what_a_sample_can_take() -> None:
    plan = small_plan(qps=3_000)
    single, batched = (simulate(plan, policy=policy) for policy in ("table-switch", Batching(most_samples=2_000)))
    assert (batched.fluid_bound_share or 0) <= (batched.correct_predictions_in_sla_per_s + 1e-9)
    assert batched.fluid_bound_share is not None
    assert single.fluid_bound_share is not None


def test_the_bound_can_be_left_out() -> None:
    assert simulate(small_plan(), options=SimulationOptions(fluid_bound=False)).fluid_bound_share is None


def test_refusing_all_of_a_load_that_cannot_be_met_is_no_share() -> None:
    assert share_of(small_plan(sla_ms=1e-6)) == pytest.approx(0.0)
