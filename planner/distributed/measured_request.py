"""A shard request with what was measured of it: times from a profile store, and logs of ids."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.distributed.hbm_cache import LoggedReuse
from planner.distributed.measured_components import job_components, measure_components, stored_times
from planner.distributed.shard_answer import planned_under
from planner.distributed.shard_request import ShardRequest
from profiles.errors import InputError, UnknownNameError
from representations.datasets.access_log import load_access_log

__all__ = ["with_ids", "with_profiles"]


def with_profiles(
    request: ShardRequest, folder: Path, device: str | None = None, *, measure: bool = False
) -> ShardRequest:
    """The request with the times of a profile store; `measure` first measures here, on the device, what it lacks.

    Components are those of the plan as it is; a what-if finds those that it shares with it, and what else is stored.

    Raises:
        InputError: no such folder or device, or rows of several devices and none named; or the plan is not feasible.
    """
    job = request.scenario.job
    components = job_components(job, planned_under(request, request.scenario))
    if measure:
        device = measure_components(components, folder, device or "cpu")
    stored = stored_times(folder, components, device)
    note = f"{stored.found} of {stored.of} passes of layers and look-ups were measured on {stored.device}"
    stale = (f"{folder}: {other}: of each component the newest row counts" for other in stored.other_setups)
    return replace(request, times=stored.times, notes=(*request.notes, note, *stale))


def with_ids(request: ShardRequest, logs: Sequence[str]) -> ShardRequest:
    """The request with the reuse times of logs, each `TABLE=FILE`; `FILE` is as `load_access_log` takes it.

    Raises:
        InputError: no `TABLE=FILE`, or a file that is no log of ids.
        UnknownNameError: the request has no such table.
    """
    names = [table.name for table in request.scenario.job.tables]
    reuse, notes = dict(request.reuse), list(request.notes)
    for text in logs:
        name, sign, file = text.partition("=")
        if not sign or not file:
            raise InputError(f"ids: must be TABLE=FILE, but got {text!r}")
        if name not in names:
            raise UnknownNameError("ids: table", name, names)
        ids_N = load_access_log(file)
        if not len(ids_N):
            raise InputError(f"ids: {file}: must hold at least one access")
        reuse[name] = LoggedReuse.from_log(ids_N)
        notes.append(f"{name} is cached as {len(ids_N):,} accesses in {file} come back")
    return replace(request, reuse=reuse, notes=tuple(notes))
