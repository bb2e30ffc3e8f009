import subprocess
import sys

import numpy as np
import pytest

import serving_sim.replay
from profiles.errors import InputError
from serving_sim.replay import ReplayOptions, replay_plan
from serving_sim.replay.comparison import compare_run
from serving_sim.replay.figures import figures_of
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
    assert said[0] == found["skipped"][0]


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
