import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serving_sim.replay
from profiles.errors import InputError
from serving_sim.replay import Replay, ReplayOptions, replay_plan
from serving_sim.replay.comparison import compare_run
from serving_sim.replay.figures import figures_of
from serving_sim.replay.saved import latency_frame, paths_frame, save_replay
from tests.serving_sim.replay.plans import one_path_plan, real_plan, served


@pytest.mark.slow
def test_a_replay_holds_simulations_beside_what_it_measured() -> None:
    said: list[str] = []
    found = replay_plan(real_plan(), options=ReplayOptions(loads=(0.1,), seconds=1.0), tell=said.append).to_object()
    assert found["measured"].keys() == {"p50", "p95", "p99", "sla_violation_share"}
    assert found["measured"].keys() == found["simulated"].keys() == found["error"].keys()
    [run] = found["runs"]
    assert run["load"] == 0.1
    assert run["qps"] == pytest.approx(0.1 * found["capacity_qps"])
    assert {"queue_logic", "as_planned", "spread", "calibration"} <= run.keys()
    assert sum(path["share"] for path in found["paths"]) == pytest.approx(1.0)
    assert found["skipped"] == ["table@gpu is not served: device gpu (v100) is not this machine's processor"]
    assert said[:2] == [found["skipped"][0], "finding how much this machine serves of a backlog"]


def test_a_run_that_the_simulator_can_tell_has_no_error() -> None:
    plan = one_path_plan()
    run = compare_run(plan, None, served(plan, np.full(3000, 1.0), dispatch_ms=0.1), segment_s=1.0)
    assert run.queue_logic.error is not None
    assert run.queue_logic.error.p99 == pytest.approx(0.0, abs=1e-9)
    assert run.predicted.error is not None
    assert run.predicted.error.p50 == pytest.approx(0.0, abs=1e-3)
    assert run.utilisation["d"] == pytest.approx(0.5, rel=0.1)


def test_refused_queries_count_as_violations_and_have_no_percentile() -> None:
    late = figures_of(np.array([1.0, 2.0, np.nan, 20.0]), np.full(4, 10.0))
    assert late is not None
    assert (late.p50, late.sla_violation_share) == (2.0, 0.5)
    assert figures_of(np.array([np.nan]), np.ones(1)) is None


def test_a_folder_holds_every_query_and_the_curves_beside_each_other(tmp_path: Path) -> None:
    plan = one_path_plan()
    trace = served(plan, np.full(3000, 1.0), dispatch_ms=0.1)
    trace.finish_ms_N[-1] = trace.start_ms_N[-1] = np.nan
    trace.path_N[-1] = -1
    runs = tuple(compare_run(plan, None, trace, segment_s=1.0, load=load) for load in (0.3, None))
    replay = Replay(plan="one", policy="static", sla_ms=10.0, capacity_qps=1.0, runs=runs, skipped=())
    assert save_replay(replay, tmp_path) == (
        "replay.json", "queries.csv", "latency.csv", "paths.csv", "replay.html",
    )  # fmt: skip
    assert json.loads((tmp_path / "replay.json").read_text(encoding="utf-8")) == replay.to_object()
    queries = pl.read_parquet(tmp_path / "queries.parquet")
    assert queries["run"].unique(maintain_order=True).to_list() == ["load 0.3 (500 queries/s)", "500 queries/s"]
    last = queries.row(-1, named=True)
    assert (last["path"], last["latency_ms"], last["arrival_ms"]) == (None, None, trace.queries.arrival_ms_N[-1])
    judged = queries.filter(pl.col("run") == queries["run"][0], "is_judged")["latency_ms"].drop_nulls().sort()
    curve = latency_frame(runs[0])
    measured = curve.filter(series="measured")
    assert measured["latency_ms"][-1] == judged[-1]
    assert measured["slower_share"].is_sorted(descending=True)
    assert curve["series"].n_unique() == 3
    assert paths_frame(runs[0])["p50_ms"][0] == pytest.approx(judged.median(), rel=0.01)


@pytest.mark.parametrize("bad", [{"loads": (0.0,)}, {"seconds": 0.0}, {"segment_s": float("nan")}])
def test_options_that_make_no_sense_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InputError, match="must be finite and > 0"):
        ReplayOptions(**bad)  # type: ignore[arg-type]  # what is wrong is the value


def test_the_door_is_sorted_and_loads_nothing_heavy() -> None:
    names = serving_sim.replay.__all__
    assert names == [*sorted(n for n in names if n[0].isupper()), *sorted(n for n in names if n[0].islower())]
    assert all(hasattr(serving_sim.replay, name) for name in serving_sim.replay.__all__)
    script = "import sys, serving_sim.replay; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "ray", "numba", "polars"} & set(loaded)
