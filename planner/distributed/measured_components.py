"""The layers and look-ups of a plan as components: what a profile store knows of them, and measuring what it lacks."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.distributed.iteration.component_times import DenseCosts, MeasuredTimes
from planner.distributed.iteration.table_times import rank_components
from planner.distributed.iteration.training_job import TrainingJob
from planner.distributed.plan import ShardingPlan
from profiles.component import Component
from profiles.errors import InputError, UnknownNameError
from profiles.setups import other_setups
from representations.phases import backward_of

if TYPE_CHECKING:
    from profiles.devices import LocalDevice
    from profiles.records import ComponentProfile, Fingerprint
    from representations.provider import RecommendationProvider

__all__ = ["StoredTimes", "job_components", "measure_components", "stored_times"]

# Of a device's free memory, for the parameters and inputs of one component.
_MOST_SHARE = 0.25


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTimes:
    """Times of a device's rows in a store, and how many `of` the components have one (`found`).

    `other_setups` tells of rows under another set-up than the present one, or than the newest where the device is not
    here.
    """

    times: MeasuredTimes
    device: str
    found: int
    of: int
    other_setups: tuple[str, ...] = ()


def job_components(job: TrainingJob, plan: ShardingPlan) -> tuple[Component, ...]:
    """What an iteration's times are looked up by, each once.

    Layers whose widths are known, forward, backward and their optimizer's step; table-batched look-ups of every rank,
    forward, and backward with the update.
    """
    costs = DenseCosts(cluster=plan.cluster, job=job)
    phases = ("forward", "backward", "optimizer") if job.dense_optimizer else ("forward", "backward")
    found: list[Component] = []
    for stack in (job.bottom, job.top):
        if stack.widths:
            found += [component for phase in phases for component in costs.components(stack, phase)]
    for held in rank_components(plan, job.batch_per_rank).values():
        found += [*held, *(backward_of(one) for one in held)]
    return tuple({(component.spec(), component.batch): component for component in found}.values())


def stored_times(folder: Path, components: Sequence[Component], device: str | None = None) -> StoredTimes:
    """The times in a profile store, of the device of that name, or of the only one that it has.

    Raises:
        InputError: there is no such folder, it has no measured row, or of several devices none is named.
        UnknownNameError: it has no row of that device.
    """
    from profiles.store import ProfileStore, require_profiles

    store = ProfileStore(require_profiles(folder, "--profiles"))
    rows = [row for row in store.load() if row.provenance == "measured"]
    name = _device(rows, device, folder)
    times = MeasuredTimes(rows, name)
    found = sum(times.seconds(component) is not None for component in components)
    others = other_setups(rows, _setup(rows, name))
    return StoredTimes(times=times, device=name, found=found, of=len(components), other_setups=others)


def _setup(rows: "Sequence[ComponentProfile]", device: str) -> "Fingerprint":
    """By which the rows of a device are judged: that of now where it is here, else the newest."""
    from profiles.devices import local_devices
    from profiles.fingerprint import current_fingerprint

    newest = [row.fingerprint for row in rows if row.device == device][-1]
    is_here = device in {local.name for local in local_devices()}
    return current_fingerprint(device, newest.threads) if is_here else newest


def _device(rows: "Sequence[ComponentProfile]", device: str | None, folder: Path) -> str:
    known = sorted({row.device for row in rows})
    if not known:
        raise InputError(f"--profiles: {folder} holds no measured row")
    if device is None and len(known) > 1:
        raise InputError(f"--profiles: {folder} holds rows of {', '.join(known)}; name one with --device")
    if device is not None and device not in known:
        raise UnknownNameError(f"--device: rows in {folder}", device, known)
    return device or known[0]


def measure_components(components: Sequence[Component], folder: Path, device: str = "cpu", *, threads: int = 1) -> str:
    """Measure here what the store in the folder lacks, and write it there; the device's name in its rows.

    What would fill more than a quarter of the device's free memory is left out.

    Raises:
        InputError: the device is not here.
        StorageError: a row cannot be written; what was written before stays.
    """
    from profiles.devices import resolve_device
    from profiles.store import ProfileStore
    from profiles.sweep import sweep
    from profiles.sweep_options import SweepOptions
    from representations.provider import RecommendationProvider

    local, provider = resolve_device(device, what="--device"), RecommendationProvider()
    most = _MOST_SHARE * _free_bytes(local)
    chosen = [one for one in components if _bytes(one, provider) <= most]
    options = SweepOptions(threads=threads, seconds_per_visit=0.01, group_bytes=int(most))
    sweep(chosen, provider, ProfileStore(folder), device=local.name, options=options)
    return local.name


def _bytes(component: Component, provider: "RecommendationProvider") -> float:
    work = provider.work(component)
    return work.parameter_bytes + work.bytes_moved


def _free_bytes(local: "LocalDevice") -> float:
    if local.is_cuda:
        import torch

        return float(torch.cuda.mem_get_info(local.torch_device)[0])
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
