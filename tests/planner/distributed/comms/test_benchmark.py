"""Collectives on real gloo ranks; nothing is asserted of how long they take."""

import json
from pathlib import Path

import pytest
import torch
from torch import distributed as dist

from planner.distributed.comms import (
    CollectiveCall,
    CommsJob,
    RecordCollectives,
    benchmark_comms,
    message_sizes,
    read_comms,
)
from planner.distributed.comms.__main__ import main
from planner.distributed.comms.rank import joined, run_job
from profiles.errors import InputError, MeasurementError

ALL = message_sizes(1024, 1024)
JOB = CommsJob(fixed=ALL, replay=(ALL[2], ALL[0], ALL[2]), repeats=2)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "GLOO_SOCKET_IFNAME": "lo"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_two_ranks_time_fixed_sizes_and_replay_a_trace_in_its_order() -> None:
    result = benchmark_comms(JOB, ranks=2)
    assert (result.backend, result.nodes, result.devices_per_node) == ("gloo", 1, 2)
    assert [(time.collective, time.message_bytes) for time in result.fixed] == [
        (call.collective, call.message_bytes) for call in ALL
    ]
    assert [time.collective for time in result.replayed] == ["all_to_all", "all_gather", "all_to_all"]
    assert all(time.bandwidth_bytes_per_s > 0 for time in (*result.fixed, *result.replayed))


@pytest.mark.usefixtures("alone")
def test_sizes_that_do_not_divide_are_rounded_up_and_said(tmp_path: Path) -> None:
    with joined(tmp_path / "store"):
        result = run_job(CommsJob(fixed=(CollectiveCall(collective="all_reduce", message_bytes=1023),), repeats=1))
    assert result.fixed[0].message_bytes == 1023
    assert result.replayed == ()


@pytest.mark.usefixtures("alone")
def test_a_rank_runs_as_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, store = str(tmp_path / "comms.json"), str(tmp_path / "store")
    arguments = ["--out", out, "--store", store, "--least", "1 KiB", "--most", "1 KiB", "--repeats", "1"]
    assert main(arguments) == 0
    assert len(read_comms(tmp_path / "comms.json").fixed) == 4
    assert main(["--out", out, "--least", "no"]) == 2
    assert "must be an amount of bytes" in capsys.readouterr().err


def test_a_rank_without_its_number_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANK", raising=False)
    job = tmp_path / "job.json"
    job.write_text(json.dumps(JOB.to_object()))
    assert main(["--out", str(tmp_path / "out.json"), "--job", str(job)]) == 2
    assert "RANK: is not set in the environment; run under torchrun" in capsys.readouterr().err


@pytest.mark.usefixtures("alone")
def test_recorded_calls_are_counted_by_the_larger_side(tmp_path: Path) -> None:
    ones = torch.ones(8)
    with joined(tmp_path / "store"), RecordCollectives() as recorder:
        dist.all_reduce(ones)
        dist.all_to_all_single(torch.empty(8), ones)
        dist.all_gather([torch.empty(8)], ones)
        dist.broadcast(ones, 0)
    found = [(call.collective, call.message_bytes) for call in recorder.calls]
    assert found == [("all_reduce", 32), ("all_to_all", 32), ("all_gather", 32)]


@pytest.mark.slow
def test_a_rank_that_fails_is_told_of_before_the_others_time_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "no-such-interface")
    with pytest.raises(MeasurementError, match=r"comms: rank \d of 2 ended with 1"):
        benchmark_comms(JOB, ranks=2, timeout_s=120)
    with pytest.raises(InputError, match="ranks: must be >= 1, but got 0"):
        benchmark_comms(JOB, ranks=0)


def test_jobs_and_sizes_are_checked() -> None:
    assert CommsJob.from_object(JOB.to_object()) == JOB
    assert [call.message_bytes for call in message_sizes(1, 100, 10, ["all_reduce"])] == [1, 10, 100]
    for least, most, factor in ((0, 4, 2), (2, 1, 2), (1, 4, 1)):
        with pytest.raises(InputError, match=r"must be (1 <=|>= 2)"):
            message_sizes(least, most, factor)
    with pytest.raises(InputError, match="must have sizes to measure or a trace to replay"):
        CommsJob()
    with pytest.raises(InputError, match="repeats: must be >= 1, but got 0"):
        CommsJob(fixed=ALL, repeats=0)
