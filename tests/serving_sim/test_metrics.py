from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from serving_sim.engine import simulate, trace_run
from serving_sim.plan import Plan
from serving_sim.testing import small_plan
from tests.serving_sim.reference import plans


@given(plan=plans())
@settings(max_examples=30, deadline=None)
def test_totals_are_those_of_the_single_queries(plan: Plan) -> None:
    result, traced = simulate(plan), trace_run(plan)
    skip = result.queries - result.counted
    latency = traced.latency_ms_N[skip:]
    sizes = traced.size_N[skip:]
    correct = sizes * np.array([plan.paths[path].accuracy for path in traced.path_N[skip:].tolist()])
    in_sla = latency <= plan.workload.sla_ms
    finish_s = float(traced.finish_ms_N.max()) / 1e3
    duration_s = finish_s - float(traced.arrival_ms_N[skip]) / 1e3
    assert result.sla_violation_share == pytest.approx(1 - in_sla.mean())
    assert result.mean_latency_ms == pytest.approx(latency.mean())
    assert result.accuracy == pytest.approx(correct.sum() / sizes.sum())
    assert result.correct_predictions_per_s == pytest.approx(correct.sum() / duration_s)
    assert result.correct_predictions_in_sla_per_s == pytest.approx(correct[in_sla].sum() / duration_s)
    assert sum(result.path_share.values()) == pytest.approx(1)
    assert sum(map(sum, result.path_share_by_size.values())) == result.counted
    assert all(0 <= used <= 1 + 1e-9 for used in result.device_utilisation.values())


def test_energy_is_idle_power_all_the_time_and_the_rest_while_busy() -> None:
    plan = small_plan()
    result = simulate(plan)
    cpu, gpu = result.device_utilisation["cpu"], result.device_utilisation["gpu"]
    traced = trace_run(plan)
    finish_s = float(traced.finish_ms_N.max()) / 1e3
    assert result.energy_j_per_query == pytest.approx((20 + 80 * cpu + 250 * gpu) * finish_s / 2000)
    assert "idle power" in result.notes[0]


def test_energy_is_unknown_where_a_power_is() -> None:
    plan = small_plan()
    devices = (plan.devices[0], replace(plan.devices[1], busy_w=None))
    assert simulate(replace(plan, devices=devices)).energy_j_per_query is None


def test_a_single_query_has_metrics_too() -> None:
    result = simulate(small_plan(), queries=1)
    assert result.counted == 1
    assert len(set(result.latency_ms.values())) == 1


@pytest.mark.parametrize(("sla_ms", "held"), [(10.0, "yes"), (4.0, "no")])
def test_a_stable_run_says_whether_it_holds_the_sla(sla_ms: float, held: str) -> None:
    result = simulate(small_plan(qps=100, sla_ms=sla_ms), policy="static")
    late = 100 * result.sla_violation_share
    assert result.verdict == "stable"
    assert result.holds_sla == (held == "yes") == (result.latency_ms["p99"] <= sla_ms)
    assert result.to_object()["holds_sla"] == result.holds_sla
    assert result.notes[-1] == f"holds the SLA: {held}, {late:.3g} % late, 1 % allowed"
