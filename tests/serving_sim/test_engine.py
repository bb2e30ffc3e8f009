import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from profiles.errors import InputError, UnknownNameError
from serving_sim.charts import latency_frame, path_share_frame
from serving_sim.engine import SimulationOptions, resolve_plan, simulate, start_simulation, trace_run, warmup_of
from serving_sim.plan import Arrivals, Plan, PolicyChoice, Sizes, Spike
from serving_sim.testing import small_plan
from tests.serving_sim.reference import plans

ASKED_KEYS = {
    "queries", "qps", "sla_ms", "verdict", "fluid_bound_share", "latency_ms", "sla_violation_share",
    "correct_predictions_per_s", "correct_predictions_in_sla_per_s", "accuracy", "paths", "devices",
    "energy_j_per_query", "simulated_queries_per_s",
}  # fmt: skip


def test_the_object_has_the_keys_that_scripts_rely_on() -> None:
    body = simulate(small_plan()).to_object()
    assert set(body) >= ASKED_KEYS
    assert set(body["latency_ms"]) == {"p50", "p95", "p99", "p999"}
    assert set(body["paths"][0]) == {"name", "share"}
    assert set(body["devices"][0]) == {"name", "utilisation"}


@given(plan=plans())
@settings(max_examples=25, deadline=None)
def test_the_same_seed_gives_the_same_result_in_chunks_of_any_size(plan: Plan) -> None:
    assert simulate(plan) == simulate(plan, options=SimulationOptions(chunk_queries=11))


def test_another_seed_gives_another_result() -> None:
    assert simulate(small_plan(), seed=1) != simulate(small_plan(), seed=2)


def test_interleaved_simulations_equal_the_same_two_alone() -> None:
    plans_ = (
        small_plan(queries=900),
        small_plan(queries=900, qps=3000, policy=PolicyChoice(name="table-switch"), seed=5),
    )
    together = [start_simulation(plan) for plan in plans_]
    for _ in range(9):
        for simulation in together:
            simulation.advance(100)
    assert [simulation.result() for simulation in together] == [simulate(plan) for plan in plans_]


def test_queries_are_the_same_whatever_the_rate_and_the_policy() -> None:
    slow, fast = trace_run(small_plan()), trace_run(small_plan(qps=800), policy="static")
    assert np.array_equal(slow.size_N, fast.size_N)
    np.testing.assert_allclose(slow.arrival_ms_N, 2 * fast.arrival_ms_N, rtol=1e-9)


def test_arguments_take_the_place_of_what_the_plan_says() -> None:
    plan = resolve_plan(small_plan(), queries=50, seed=9, qps=123.0, sla_ms=4.0)
    assert (plan.workload.queries, plan.seed, plan.workload.qps, plan.workload.sla_ms) == (50, 9, 123.0, 4.0)
    assert simulate(small_plan(), policy="static", queries=50).policy == "static"


def test_a_load_far_above_capacity_is_called_overloaded() -> None:
    result = simulate(small_plan(), qps=1e7, queries=20_000)
    assert result.verdict == "overloaded"
    assert result.sla_violation_share > 0.9


@pytest.mark.parametrize(("qps", "verdict"), [(200, "stable"), (1900, "near-saturation"), (4000, "overloaded")])
def test_the_verdict_follows_the_load(qps: float, verdict: str) -> None:
    # Table on the CPU alone: two servers that serve about 1,930 a second.
    assert simulate(small_plan(queries=40_000), policy="static", qps=qps).verdict == verdict


@pytest.mark.parametrize(
    ("qps", "sla_ms", "verdict"),
    [(3000, 10.0, "near-saturation"), (4000, 10.0, "overloaded"), (1e6, 10.0, "overloaded"), (400, 1.0, "stable")],
)
def test_refused_queries_are_demand_that_is_not_served(qps: float, sla_ms: float, verdict: str) -> None:
    result = simulate(small_plan(queries=20_000), policy="headroom", qps=qps, sla_ms=sla_ms)
    assert result.refused > 0
    assert result.verdict == verdict


def test_a_run_that_refuses_all_has_no_latency_and_is_overloaded() -> None:
    result = simulate(small_plan(queries=500), policy="headroom", sla_ms=0.01)
    written = result.to_object()
    assert result.verdict == "overloaded"
    assert set(written["latency_ms"].values()) == {None}
    assert written["mean_latency_ms"] is written["mean_wait_ms"] is None
    assert latency_frame({"headroom": result}).is_empty()
    assert path_share_frame(result).is_empty()


def test_a_burst_at_the_end_is_no_saturation() -> None:
    bursty = small_plan(queries=500).at(arrivals=Arrivals(process="gamma", cv=6.0))
    assert {simulate(bursty, seed=seed, policy="table-switch").verdict for seed in range(20)} == {"stable"}


def test_a_run_that_ends_within_a_spike_is_not_called_stable() -> None:
    spiky = small_plan(qps=1000).at(arrivals=Arrivals(spikes=(Spike(start_s=3.0, duration_s=0.1, factor=9.0),)))
    ended, drained = (simulate(spiky, policy="static", queries=queries) for queries in (3800, 8000))
    assert max(ended.device_utilisation.values()) < 0.9
    assert (ended.verdict, drained.verdict) == ("near-saturation", "stable")
    assert [any("ends in a backlog of" in note for note in one.notes) for one in (ended, drained)] == [True, False]


def test_an_sla_below_the_fastest_path_still_gives_a_result_and_says_so() -> None:
    result = simulate(small_plan(), sla_ms=0.05)
    assert result.sla_violation_share == 1.0
    assert result.fluid_bound_share is None
    assert result.notes[0].startswith(
        "sla_ms: 50 µs is below the fastest path: table-gpu takes 2.06 ms on average at size"
    )
    assert result.notes[0].endswith("nothing can meet it, by 2.01 ms")


def test_sizes_beyond_the_latency_table_are_extrapolated_and_counted() -> None:
    plan = small_plan().at(sizes=Sizes(distribution="fixed", mean=8192, maximum=8192))
    result = simulate(plan, policy="static", qps=1.0, queries=100)
    assert result.extrapolated == result.counted == 99
    assert "outside the latency table" in result.notes[0]
    assert result.latency_ms["p50"] == pytest.approx(22.0 * 2 ** (np.log(22 / 0.9) / np.log(32)))


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [
        (
            PolicyChoice(name="greedy"),
            "policy: unknown name 'greedy'; known: accuracy-floor, batching, headroom, mp-rec, split",
        ),
        (
            PolicyChoice(name="mp-rec", options={"predicate": "maybe"}),
            "policy.options: predicate: unknown name 'maybe'",
        ),
        (PolicyChoice(name="mp-rec", options={"shares": 1}), "policy.options of mp-rec: unknown name 'shares'"),
        (PolicyChoice(name="mp-rec", options={"share": -1}), "share: must be finite and >= 0, but got -1"),
        (PolicyChoice(name="static", options={"path": "table-gpux"}), "did you mean 'table-gpu'"),
    ],
)
def test_a_wrong_policy_or_option_is_named(choice: PolicyChoice, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint.replace(".", r"\.")):
        simulate(small_plan(), policy=choice)


@pytest.mark.parametrize("options", [{"chunk_queries": 0}, {"exact_queries": -1}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        SimulationOptions(**options)


def test_a_result_needs_a_counted_query() -> None:
    with pytest.raises(InputError, match="queries: must be > 0"):
        start_simulation(small_plan()).result()


def test_an_unknown_trace_is_named_with_the_known_ones() -> None:
    plan = small_plan().at(arrivals=Arrivals(process="trace", source="azure"))
    with pytest.raises(UnknownNameError, match="azure-code, azure-conversation"):
        simulate(plan)


def test_the_warm_up_is_one_percent_and_bounded() -> None:
    assert [warmup_of(queries) for queries in (1, 99, 1000, 10**9)] == [0, 0, 10, 10_000]


def test_simulating_loads_no_heavy_library() -> None:
    script = (
        "import sys; from serving_sim.testing import small_plan; from serving_sim.engine import simulate; "
        "simulate(small_plan(queries=10)); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    # numba loads scipy.linalg, to see whether there is a BLAS; no other public part of scipy comes with it.
    parts = {name.split(".")[1] for name in loaded if name.startswith("scipy.")}
    assert {part for part in parts if not part.startswith("_")} <= {"linalg", "version"}
    heavy = {
        "torch",
        "torchrec",
        "sklearn",
        "ray",
        "altair",
        "polars",
        "faiss",
        "optuna",
    }
    assert not heavy & set(loaded)
