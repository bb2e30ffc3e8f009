import multiprocessing
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from profiles.errors import InputError, MeasurementError
from representations.build import build_model
from representations.model_file import save_model
from serving_sim.plan import Plan
from serving_sim.replay.cores import available_cores
from serving_sim.replay.live import LiveOptions, serve_live
from serving_sim.replay.queries import draw_queries
from serving_sim.replay.servable import servable_part
from tests.serving_sim.replay.plans import MODELS, real_plan


def cpu_plan(**changes: object) -> Plan:
    return servable_part(real_plan(**changes)).plan  # type: ignore[arg-type]  # each test names what it changes


@pytest.mark.parametrize(("policy", "servers"), [("mp-rec", 1), pytest.param("headroom", 2, marks=pytest.mark.slow)])
def test_every_query_is_served_once_after_it_came_and_one_at_a_time(policy: str, servers: int) -> None:
    plan = cpu_plan(policy=policy, servers=servers)
    trace = serve_live(plan, draw_queries(plan, 200))
    served = trace.path_N >= 0
    assert set(trace.path_N.tolist()) <= {-1, 0, 1}
    assert served.sum() >= 100
    assert np.all(trace.sent_ms_N >= trace.queries.arrival_ms_N)
    assert np.all(trace.start_ms_N[served] >= trace.sent_ms_N[served])
    assert np.all(trace.service_ms_N[served] > 0)
    assert np.all(np.isnan(trace.latency_ms_N[~served]))
    begins, ends = np.sort(trace.start_ms_N[served]), np.sort(trace.finish_ms_N[served])
    assert np.all(begins[servers:] >= ends[: len(begins) - servers])


@pytest.mark.slow
@pytest.mark.skipif(len(available_cores()) < 2, reason="a core for each process")
def test_workers_that_poll_are_awake_while_there_is_nothing_to_serve() -> None:
    plan = cpu_plan(qps=5.0)
    assert cpu_seconds_of_worker(plan, busy_poll=False) < 0.5 * cpu_seconds_of_worker(plan, busy_poll=True)


def cpu_seconds_of_worker(plan: Plan, *, busy_poll: bool) -> float:
    """While 10 queries come in two seconds."""
    before: list[float] = []
    seconds: list[float] = []

    def used() -> float:
        [worker] = [one for one in multiprocessing.active_children() if "worker" in one.name]
        fields = Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    later = threading.Timer(1.0, lambda: seconds.append(used() - before[0]))

    def begun() -> None:
        before.append(used())
        later.start()

    serve_live(plan, draw_queries(plan, 10), options=LiveOptions(busy_poll=busy_poll), begun=begun)
    later.join()
    return seconds[0]


def test_workers_that_would_poll_on_one_core_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serving_sim.replay.live.available_cores", lambda: (0,))
    plan = cpu_plan()
    with pytest.raises(InputError, match=r"busy_poll: .*2 cores are needed, 1 are here"):
        serve_live(plan, draw_queries(plan, 10), options=LiveOptions(busy_poll=True))


def kill_worker() -> None:
    [worker] = [one for one in multiprocessing.active_children() if "worker" in one.name]
    os.kill(worker.pid or 0, signal.SIGKILL)


def test_a_worker_that_is_killed_in_mid_run_ends_the_replay_with_an_error_that_names_it() -> None:
    plan = cpu_plan()
    killer = threading.Timer(0.7, kill_worker)
    with pytest.raises(MeasurementError, match=r"the worker of cpu was killed \(SIGKILL\)"):
        serve_live(plan, draw_queries(plan, 4000), begun=killer.start)
    killer.join()
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_what_a_worker_raises_is_told(tmp_path: Path) -> None:
    plan = cpu_plan()
    broken = tmp_path / "m.safetensors"
    broken.write_bytes(b"no model")
    with pytest.raises(MeasurementError, match=r"the worker of cpu failed: .*not a whole safetensors file"):
        serve_live(plan, draw_queries(plan, 10), options=LiveOptions(exports={"dhe@cpu": broken}))


@pytest.mark.slow
def test_exported_weights_are_served(tmp_path: Path) -> None:
    plan = cpu_plan()
    file = save_model(build_model(MODELS["dhe"]), tmp_path / "m.safetensors")
    trace = serve_live(plan, draw_queries(plan, 20), options=LiveOptions(exports={"dhe@cpu": file}))
    assert np.all(np.isfinite(trace.latency_ms_N))


@pytest.mark.slow
def test_a_load_that_is_never_done_ends_with_an_error_that_counts_what_was() -> None:
    plan = cpu_plan(qps=1e6, policy="static")
    with pytest.raises(MeasurementError, match=r"\d+ of 50000 queries were served 0.2 s after the last arrival"):
        serve_live(plan, draw_queries(plan, 50_000), options=LiveOptions(drain_limit_s=0.2))


def test_processes_that_are_not_ready_in_time_are_an_error() -> None:
    plan = cpu_plan()
    with pytest.raises(MeasurementError, match=r"was not ready after 0\.001 s"):
        serve_live(plan, draw_queries(plan, 10), options=LiveOptions(setup_limit_s=0.001))


@pytest.mark.parametrize("bad", [{"threads": 0}, {"setup_limit_s": 0.0}, {"drain_limit_s": -1.0}])
def test_options_that_make_no_sense_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must be"):
        replace(LiveOptions(), **bad)  # type: ignore[arg-type]  # what is wrong is the value
