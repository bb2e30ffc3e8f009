from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from profiles.errors import InputError
from serving_sim.class_metrics import holds_percentile
from serving_sim.engine import simulate, trace_run
from serving_sim.plan import Arrivals, Plan, PolicyChoice, QueryClass, Sizes, Spike
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
    assert result.holds_sla is None
    assert result.notes[-1] == "holds the SLA: too few queries to tell, 0 % late, 1 % allowed"


@pytest.mark.parametrize(
    ("counted", "late", "percentile", "held"),
    [
        (99, 0, 99, None),
        (100, 1, 99, True),
        (100, 2, 99, False),
        (5, 1, 99, False),
        (999, 0, 99.9, None),
        (0, 0, 50, None),
    ],
)
def test_so_few_queries_that_none_may_be_late_hold_no_percentile(
    counted: int, late: int, percentile: float, held: bool | None
) -> None:
    assert holds_percentile(counted, late, percentile) is held


def test_a_class_of_few_queries_leaves_open_whether_all_hold() -> None:
    rare, usual = (QueryClass(name=str(share), share=share, sla_ms=500.0) for share in (0.01, 0.99))
    result = simulate(small_plan().at(classes=(rare, usual)), queries=1000)
    assert [one.holds_sla for one in result.classes] == [None, True]
    assert result.holds_sla is None


@pytest.mark.parametrize(("sla_ms", "held"), [(10.0, "yes"), (4.0, "no")])
def test_a_stable_run_says_whether_it_holds_the_sla(sla_ms: float, held: str) -> None:
    result = simulate(small_plan(qps=100, sla_ms=sla_ms), policy="static")
    late = 100 * result.sla_violation_share
    assert result.verdict == "stable"
    assert result.holds_sla == (held == "yes") == (result.latency_ms["p99"] <= sla_ms)
    assert result.to_object()["holds_sla"] == result.holds_sla
    assert result.notes[-1] == f"holds the SLA: {held}, {late:.3g} % late, 1 % allowed"


def classed_plan() -> Plan:
    """Small queries with a tight SLA, large ones with a loose one."""
    small = QueryClass(name="small", share=0.75, sla_ms=2.0, sizes=Sizes(distribution="fixed", mean=8))
    large = QueryClass(name="large", share=0.25, sla_ms=50.0, sizes=Sizes(distribution="fixed", mean=800))
    return small_plan(policy=PolicyChoice(name="table-switch")).at(classes=(small, large))


def test_each_class_is_held_to_its_own_sla() -> None:
    plan = classed_plan()
    result, traced = simulate(plan), trace_run(plan)
    skip = result.queries - result.counted
    latency, is_small = traced.latency_ms_N[skip:], traced.size_N[skip:] == 8
    small, large = result.classes
    assert (small.counted, large.counted) == (is_small.sum(), (~is_small).sum())
    assert small.sla_violation_share == pytest.approx(np.mean(latency[is_small] > 2.0))
    assert large.sla_violation_share == pytest.approx(np.mean(latency[~is_small] > 50.0))
    assert small.latency_ms["p99"] == pytest.approx(np.percentile(latency[is_small], 99), rel=0.05)
    assert small.goodput_qps + large.goodput_qps == pytest.approx(result.goodput_qps)
    assert result.holds_sla == (small.holds_sla and large.holds_sla)
    assert [one["name"] for one in result.to_object()["classes"]] == ["small", "large"]
    assert (result.sla_ms, result.slas_by_class) == (50.0, {"small": 2.0, "large": 50.0})


def test_classes_have_their_own_sla_and_take_no_other() -> None:
    with pytest.raises(InputError, match=r"workload\.classes\.NAME\.sla_ms"):
        simulate(classed_plan(), sla_ms=3)


def test_an_sla_that_nothing_meets_says_by_how_much() -> None:
    notes = simulate(small_plan(sla_ms=0.05)).notes
    assert any(note.startswith("sla_ms: ") and "nothing can meet it, by" in note for note in notes)
    plan = classed_plan()
    tight = replace(plan.workload.classes[0], sla_ms=0.01)
    notes = simulate(plan.at(classes=(tight, plan.workload.classes[1]))).notes
    assert notes[0].startswith("workload.classes.small.sla_ms: ")


def test_an_sla_is_held_against_the_sizes_that_come() -> None:
    """The GPU's table takes 4.5 ms at 4,096 samples, and 0.2 ms on the CPU at one."""
    large = small_plan(sla_ms=2.0, queries=500).at(sizes=Sizes(distribution="fixed", mean=4096, maximum=4096))
    assert any("at size 4096" in note and "by 2.5 ms" in note for note in simulate(large).notes)
    assert not any("nothing can" in note for note in simulate(large, policy="split").notes)
    rare = Sizes(distribution="empirical", values=(1, 4096), weights=(0.999, 0.001), maximum=4096)
    assert not any("nothing can" in note for note in simulate(large.at(sizes=rare)).notes)


def test_cost_is_the_price_of_all_devices_over_what_was_right_in_time() -> None:
    plan = small_plan()
    assert simulate(plan).cost_per_million_correct is None
    priced = replace(plan, devices=tuple(replace(device, price_per_hour=1.8) for device in plan.devices))
    result = simulate(priced)
    assert result.cost_per_million_correct == pytest.approx(3.6 / 3600 / result.correct_predictions_in_sla_per_s * 1e6)


def test_the_queue_over_time_is_that_of_the_single_queries() -> None:
    plan = small_plan(qps=1500, policy=PolicyChoice(name="table-switch"))
    queue, traced = simulate(plan).queue, trace_run(plan)
    wait = traced.start_ms_N - traced.arrival_ms_N
    device = np.array([plan.device_of(path) for path in plan.paths])[traced.path_N]
    place = (traced.arrival_ms_N / (queue.bin_s * 1e3)).astype(int)
    own = (device == 1) & (place == 20)
    assert len(queue.mean_backlog_ms["gpu"]) == place.max() + 1 <= 128
    assert queue.mean_backlog_ms["gpu"][20] == pytest.approx(wait[own].mean() if own.any() else 0)
    assert queue.max_backlog_ms["gpu"][20] == pytest.approx(wait[own].max(initial=0))
    assert queue.mean_waiting["gpu"][20] == pytest.approx(wait[own].sum() / (queue.bin_s * 1e3))


def test_a_run_that_settles_late_is_noted() -> None:
    quiet = small_plan(qps=200, queries=60_000, policy=PolicyChoice(name="table-switch"))
    assert simulate(quiet).warmup == 600
    spike = Arrivals(spikes=(Spike(start_s=0, duration_s=20, factor=12),))
    busy = simulate(quiet.at(arrivals=spike))
    assert busy.settling_share > 0.1
    assert any("unlike the rest" in note for note in busy.notes)
