import json
from dataclasses import astuple, replace

import numpy as np
import pytest

from serving_sim.engine import SimulationOptions, simulate
from serving_sim.grid import simulate_grid
from serving_sim.kernels import grid as kernel
from serving_sim.plan import Arrivals, Plan, PolicyChoice, QueryClass, Spike
from serving_sim.testing import small_plan
from tests.serving_sim.test_capacity_errors import with_bars

FIGURES = ("sla_violation_share", "accuracy", "correct_predictions_per_s", "correct_predictions_in_sla_per_s")
POLICIES = (
    PolicyChoice(name="static", options={"path": "table-gpu"}),
    PolicyChoice(name="table-switch"),
    PolicyChoice(name="mp-rec"),
    PolicyChoice(name="mp-rec", options={"predicate": "finish-in-sla"}),
    PolicyChoice(name="accuracy-floor", options={"floor": 0.7885}),
)


def scattered(queries: int) -> Plan:
    """A routing policy that does not know the service times of one path."""
    plan = small_plan(queries=queries)
    latency = replace(plan.paths[0].latency, spread="lognormal", sigma=0.4)
    return replace(plan, paths=(replace(plan.paths[0], latency=latency), *plan.paths[1:]))


def three_devices(plan: Plan) -> Plan:
    """The plan with a third device, of two servers, that has the paths of the first one, all somewhat slower."""
    first = plan.devices[0]
    slower = tuple(
        replace(
            path,
            name=f"{path.name}-slower",
            device="slower",
            latency=replace(path.latency, mean_ms=tuple(1.3 * mean_ms for mean_ms in path.latency.mean_ms)),
        )
        for path in plan.paths
        if path.device == first.name
    )
    return replace(
        plan, devices=(*plan.devices, replace(first, name="slower", servers=2)), paths=(*plan.paths, *slower)
    )


def scenarios(policy: PolicyChoice, queries: int = 20_000, *, wide: bool = False) -> list[Plan]:
    plan = small_plan(policy=policy, queries=queries)
    plan = three_devices(plan) if wide else plan
    return [plan.at(qps=qps, sla_ms=sla_ms) for qps in (100.0, 400.0, 900.0) for sla_ms in (4.0, 10.0)]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_plans_served_together_come_to_what_each_comes_to_alone(policy: PolicyChoice, wide: bool) -> None:
    plans = scenarios(policy, wide=wide)
    for plan, cell in zip(plans, simulate_grid(plans), strict=True):
        result = simulate(plan, options=SimulationOptions(fluid_bound=False))
        other = simulate(plan, seed=1, options=SimulationOptions(fluid_bound=False))
        assert cell.together
        assert (cell.verdict, cell.holds_sla) == (result.verdict, result.holds_sla)
        for name in FIGURES:
            noise = abs(getattr(other, name) - getattr(result, name))
            assert getattr(cell, name) == pytest.approx(getattr(result, name), rel=1e-3, abs=max(noise, 1e-3))
        assert cell.device_utilisation == pytest.approx(result.device_utilisation, rel=5e-3, abs=1e-3)
        assert cell.path_share == pytest.approx(result.path_share, abs=5e-3)
        for name, latency_ms in result.latency_ms.items():
            assert cell.latency_ms[name] == pytest.approx(latency_ms, rel=0.02)


def test_error_bars_change_no_figure_and_are_those_of_each_plan_alone() -> None:
    plans = scenarios(POLICIES[1], queries=5_000)[:2]
    plans = [with_bars(plan, 0.1) for plan in plans]
    barred = simulate_grid(plans, intervals=True)
    assert [replace(cell, error_bars={}) for cell in barred] == list(simulate_grid(plans))
    for plan, cell in zip(plans, barred, strict=True):
        assert cell.together
        alone = simulate(plan, table_errors=True, options=SimulationOptions(fluid_bound=False))
        for name in ("p50", "p95"):
            assert astuple(cell.error_bars[name]) == pytest.approx(astuple(alone.error_bars[name]), rel=0.02)
        assert json.dumps(cell.to_object())


def test_a_static_path_keeps_its_scattered_service_times() -> None:
    plan = small_plan(policy=PolicyChoice(name="static"), queries=5_000)
    latency = replace(plan.paths[0].latency, spread="lognormal", sigma=0.4)
    scattered = replace(plan, paths=(replace(plan.paths[0], latency=latency), *plan.paths[1:]))
    (cell,), result = simulate_grid([scattered]), simulate(scattered)
    assert cell.together
    assert cell.latency_ms["p99"] == pytest.approx(result.latency_ms["p99"], rel=0.005)


def test_what_cannot_be_served_together_is_served_alone() -> None:
    cells = simulate_grid([scattered(2_000), small_plan(queries=2_000)])
    assert [cell.together for cell in cells] == [False, True]


def test_a_plan_served_alone_comes_to_exactly_what_it_comes_to_without_a_grid() -> None:
    spiked = Arrivals(spikes=(Spike(start_s=1, duration_s=2, factor=2.0),))
    classes = (QueryClass(name="a", share=0.5, sla_ms=5), QueryClass(name="b", share=0.5, sla_ms=50))
    base = scattered(2_000)
    plans = [base.at(qps=qps) for qps in (200.0, 300.0)] + [base.at(qps=qps, arrivals=spiked) for qps in (200.0, 300.0)]
    plans += [base.at(classes=classes), replace(base, seed=1)]
    for plan, cell in zip(plans, simulate_grid(plans, workers=1), strict=True):
        result = simulate(plan)
        assert not cell.together
        assert cell.latency_ms == result.latency_ms
        assert cell.path_share == result.path_share
        assert cell.classes == result.classes
        parts = [(one.latency_ms["p99"], one.sla_ms) for one in (result.classes or [result])]
        assert cell.p99_over_sla == max(p99_ms / sla_ms for p99_ms, sla_ms in parts)


def test_processes_change_no_figure() -> None:
    plans = [scattered(600_000).at(qps=qps) for qps in (100.0, 200.0, 300.0, 400.0)]
    assert simulate_grid(plans, workers=2) == simulate_grid(plans, workers=1)


@pytest.mark.slow
def test_a_ray_cluster_changes_no_figure() -> None:
    plans = [scattered(5_000).at(qps=qps) for qps in (100.0, 200.0, 300.0)]
    assert simulate_grid(plans, ray="local") == simulate_grid(plans)


def test_threads_change_no_figure() -> None:
    plans = [small_plan(queries=1_000).at(qps=float(qps)) for qps in range(100, 400)]
    assert simulate_grid(plans, workers=1) == simulate_grid(plans, workers=4)


def test_prices_change_costs_alone() -> None:
    plan = small_plan(queries=1_000)
    priced = [
        replace(plan, devices=tuple(replace(device, price_per_hour=price) for device in plan.devices))
        for price in (1.0, 2.0)
    ]
    cheap, dear = simulate_grid(priced)
    assert (cheap.cost_per_hour, dear.cost_per_hour) == (2.0, 4.0)
    assert dear.cost_per_million_correct == pytest.approx(2 * (cheap.cost_per_million_correct or 0))
    assert cheap.latency_ms == dear.latency_ms
    assert simulate_grid([plan])[0].cost_per_hour is None


def test_python_does_what_is_compiled() -> None:
    lanes, singles = 3, np.float32
    rule = kernel.GridRule(
        one_X=np.array([3, 2, 0]),
        other_X=np.array([kernel.NO_ENTRY, kernel.NO_ENTRY, 1]),
        is_whole_X=np.array([True, False, False]),
        path_E=np.array([1, 0, 1, 0]),
        tier_E=np.array([0, 0, 0, 1]),
        limit_ms_EM=np.array([*[[3, 5, 9]] * 3, [np.inf] * 3], dtype=singles),
        rate_per_ms_EM=np.array([*[[1, 1, 1]] * 3, [0, 0, 0]], dtype=singles),
        most_ms_E=np.array([9, 9, 9, np.inf], dtype=singles),
        least_rate_E=np.array([1, 1, 1, 0], dtype=singles),
        most_rate_E=np.array([1, 1, 1, 0], dtype=singles),
        passes_E=np.array([False, False, False, True]),
        device_P=np.array([0, 1]),
        mark_P=np.array([0, 1], dtype=singles),
        end_D=np.array([1, 2], dtype=singles),
        first_D=np.array([0, 2]),
        servers_D=np.array([2, 1]),
        worth_P=np.array([0.7, 0.8], dtype=singles),
        service_ms_SP=np.array([[0, 0], [1, 2], [2, 3]], dtype=singles),
        gap_ms_M=np.array([0.5, 1, 2], dtype=singles),
        sla_ms_M=np.array([3, 5, 9], dtype=singles),
    )
    rng = np.random.default_rng(0)
    load = (rng.exponential(size=300).astype(singles), rng.integers(1, 3, 300), np.ones(300, dtype=singles))
    states = []
    for serve in (kernel.serve_grid, in_python):
        left_ms_VM = np.array([*[[0.0] * lanes] * 3, [np.inf] * lanes], dtype=singles)
        state = kernel.GridState(
            left_ms_VM=left_ms_VM,
            taken_L=np.zeros(4 * kernel.LANES, dtype=singles),
            bin_QM=np.zeros((128, lanes), dtype=np.int16),
            block_L=np.zeros(kernel.SUMS * kernel.LANES, dtype=singles),
            block_queries_PM=np.zeros((2, lanes), dtype=singles),
            block_busy_ms_DM=np.zeros((2, lanes), dtype=singles),
            sums_GM=np.zeros((kernel.SUMS, lanes)),
            queries_PM=np.zeros((2, lanes)),
            busy_ms_DM=np.zeros((2, lanes)),
            histogram_MB=np.zeros((lanes, 8192), dtype=np.int32),
        )
        serve(*load, rule, state)
        states.append(state)
    for compiled, plain in zip(*states, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-6)


def in_python(*arguments: object) -> None:
    plain = {name: function.py_func for name, function in vars(kernel).items() if hasattr(function, "py_func")}
    with pytest.MonkeyPatch.context() as patch:
        for name, function in plain.items():
            patch.setattr(kernel, name, function)
        plain["serve_grid"](*arguments)
