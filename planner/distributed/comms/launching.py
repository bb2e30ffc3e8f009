"""Run a comms benchmark on ranks of this machine, each a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from planner.distributed.comms.job import CommsJob
from planner.distributed.comms.result import CommsResult, read_comms
from profiles.errors import InputError, MeasurementError

__all__ = ["benchmark_comms"]

_MOST_SECONDS = 600
_POLL_S = 0.02


def benchmark_comms(job: CommsJob, *, ranks: int = 2, timeout_s: float = _MOST_SECONDS) -> CommsResult:
    """Make the job's calls on `ranks` processes of this machine: over NCCL where it has GPUs, else over gloo.

    Raises:
        InputError: fewer than one rank.
        MeasurementError: a rank failed, or they did not end in time; says what it said last.
    """
    if ranks < 1:
        raise InputError(f"ranks: must be >= 1, but got {ranks}")
    with tempfile.TemporaryDirectory(prefix="recplan-comms-") as folder:
        place = Path(folder)
        (place / "job.json").write_text(json.dumps(job.to_object()), encoding="utf-8")
        started = [_start(rank, ranks, place) for rank in range(ranks)]
        try:
            _wait(started, place, timeout_s)
        finally:
            for process in started:
                process.kill()
                process.wait()
        return read_comms(place / "result.json")


def _wait(started: "Sequence[subprocess.Popen[bytes]]", folder: Path, timeout_s: float) -> None:
    """Until all have ended well; the first that did not is told of, since the others then wait for it in vain."""
    latest = time.monotonic() + timeout_s
    while any(process.poll() is None for process in started):
        _check(started, folder)
        if time.monotonic() > latest:
            raise MeasurementError(f"comms: {len(started)} ranks did not end within {timeout_s:g} s")
        time.sleep(_POLL_S)
    _check(started, folder)


def _check(started: "Sequence[subprocess.Popen[bytes]]", folder: Path) -> None:
    for rank, process in enumerate(started):
        if process.poll():
            lines = _errors(folder, rank).read_text(encoding="utf-8", errors="replace").strip().splitlines()
            said = lines[-1] if lines else "it said nothing"
            raise MeasurementError(f"comms: rank {rank} of {len(started)} ended with {process.returncode}: {said}")


def _errors(folder: Path, rank: int) -> Path:
    return folder / f"errors-{rank}.txt"


def _start(rank: int, ranks: int, folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "planner.distributed.comms"]
    command += ["--job", str(folder / "job.json"), "--out", str(folder / "result.json")]
    command += ["--store", str(folder / "store")]
    surroundings = {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(ranks),
        "OMP_NUM_THREADS": "1",
    }
    # Ranks of one machine need no other interface, whatever its name resolves to.
    surroundings.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with _errors(folder, rank).open("wb") as errors:
        return subprocess.Popen(  # noqa: S603 (this interpreter, this package)
            command, env=surroundings, stdout=subprocess.DEVNULL, stderr=errors
        )
