import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from serving_sim.engine import SimulationOptions, simulate
from serving_sim.fluid_bound import FluidRows, best_prices, bound_at, collect_rows, upper_bound_qps
from serving_sim.kernels import Chunk
from serving_sim.paths import compile_paths
from serving_sim.plan import Plan, PolicyChoice
from serving_sim.testing import small_plan
from serving_sim.workload import WorkloadStream, empty_chunk
from tests.serving_sim.reference import POLICIES, plans


def rows_of(plan: Plan, count: int = 200) -> FluidRows:
    tables = compile_paths(plan)
    chunk: Chunk = empty_chunk(count, len(tables.spreads))
    WorkloadStream(plan.workload, tables.spreads, plan.seed).fill(chunk, count)
    return collect_rows(chunk, 0, count, tables.arrays)


@given(plan=plans(), policy=st.sampled_from(POLICIES))
@settings(max_examples=50, deadline=None)
def test_no_policy_beats_the_bound(plan: Plan, policy: PolicyChoice) -> None:
    share = simulate(plan, policy=policy).fluid_bound_share
    assert share is None or 0 <= share <= 1 + 1e-9


@given(plan=plans())
@settings(max_examples=20, deadline=None)
def test_the_dual_meets_the_linear_program(plan: Plan) -> None:
    from scipy.optimize import linprog

    rows = rows_of(plan, 60)
    available = 40.0 * rows.paths.servers_D.astype(np.float64)
    closed = rows.within(plan.workload.sla_ms)
    bound, _ = bound_at(closed, best_prices(rows, plan.workload.sla_ms, available), available)
    count, paths = closed.worth_RP.shape
    usable = np.isfinite(closed.service_ms_RP)
    once = np.kron(np.eye(count), np.ones(paths))
    on_device = closed.paths.device_P == np.arange(len(available))[:, None]
    times = np.tile(on_device, count) * np.where(usable, closed.service_ms_RP, 0).ravel()
    primal = linprog(
        -closed.worth_RP.ravel(),
        A_ub=np.vstack([once, times]),
        b_ub=np.concatenate([closed.weight_R, available]),
        bounds=[(0, None if ok else 0) for ok in usable.ravel()],
    )
    assert bound == pytest.approx(-primal.fun, rel=1e-4, abs=1e-6)
    assert bound >= -primal.fun * (1 - 1e-9)


@given(plan=plans())
@settings(max_examples=20, deadline=None)
def test_the_highest_rate_meets_the_linear_program(plan: Plan) -> None:
    from scipy.optimize import linprog

    rows = rows_of(plan, 60)
    # The solver's tolerances are no match for tables that grow by a power beyond their last size.
    assume(rows.service_ms_RP.max() < 1e5 * rows.service_ms_RP.min())
    count, paths = rows.worth_RP.shape
    share = rows.weight_R / rows.weight_R.sum()
    once = np.hstack([np.kron(np.eye(count), np.ones(paths)), -np.ones((count, 1))])
    on_device = rows.paths.device_P == np.arange(len(plan.devices))[:, None]
    # In units of the mean service time, for the solver's sake.
    unit_ms = rows.service_ms_RP.mean()
    times = np.tile(on_device, count) * (share[:, None] * rows.service_ms_RP / unit_ms).ravel()
    primal = linprog(
        np.append(np.zeros(count * paths), -1.0),
        A_eq=once,
        b_eq=np.zeros(count),
        A_ub=np.hstack([times, np.zeros((len(plan.devices), 1))]),
        b_ub=rows.paths.servers_D,
    )
    assert upper_bound_qps(rows) == pytest.approx(-primal.fun * 1e3 / unit_ms, rel=1e-4)


def test_at_low_load_the_bound_is_the_most_accurate_path_for_all() -> None:
    result = simulate(small_plan(qps=1.0, sla_ms=1000.0), policy="static")
    assert result.fluid_bound_share == pytest.approx(0.7879 / 0.7898)


def test_a_run_longer_than_the_pilot_is_bounded_closely_too() -> None:
    plan = small_plan(qps=1500, queries=100_000)
    share = simulate(plan, policy="table-switch").fluid_bound_share
    assert share is not None
    assert 0.99 < share <= 1.0


def test_the_bound_can_be_left_out() -> None:
    assert simulate(small_plan(), options=SimulationOptions(fluid_bound=False)).fluid_bound_share is None
