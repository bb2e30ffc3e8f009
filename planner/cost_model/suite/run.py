"""Measure the suite into a store, and say what the device achieved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planner.cost_model.suite.cases import SuiteCase
from planner.cost_model.suite.provider import SuiteProvider
from profiles.executors.protocol import Executor
from profiles.hardware import LOCAL_CPU, catalogue
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.sweep import SweepProgress, sweep
from profiles.sweep_options import SweepOptions
from profiles.units import MS_PER_S

__all__ = ["SuiteRow", "run_suite"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteRow:
    """One case as measured: median latency, rates, and their shares of the device's peaks where these are known.

    `skipped` is the reason why there is no latency.
    """

    name: str
    dtype: str
    is_cold: bool
    scale: str
    median_ms: float | None
    flops_per_s: float | None
    bytes_per_s: float | None
    flops_share: float | None
    bandwidth_share: float | None
    skipped: str = ""


def run_suite(
    cases: Sequence[SuiteCase],
    store: ProfileStore,
    *,
    device: str = LOCAL_CPU,
    executor: Executor | None = None,
    options: SweepOptions | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> tuple[SuiteRow, ...]:
    """Measure what the store does not hold yet, warm and then cold, and give every case's row.

    Raises:
        InputError: the device is not here.
        StorageError: a row cannot be written; what was written before stays.
    """
    from profiles.executors.in_process import InProcessExecutor

    options, executor = options or SweepOptions(), executor or InProcessExecutor()
    for is_cold in (False, True):
        wanted = [case.component for case in cases if case.is_cold is is_cold]
        how = replace(options, warm=not is_cold, cold=is_cold)
        sweep(wanted, SuiteProvider(), store, device=device, executor=executor, options=how, progress=progress)
    fingerprint = executor.fingerprint(device, options.threads)
    rows = {row.content_hash: row for row in store.load()}
    return tuple(_row(case, rows[case.component.content_hash(fingerprint.device_key())]) for case in cases)


def _row(case: SuiteCase, profile: ComponentProfile) -> SuiteRow:
    latency = profile.cold if case.is_cold else profile.warm
    per_s = MS_PER_S / latency.median_ms if latency else None
    flops = profile.flops * per_s if per_s and profile.flops else None
    moved = profile.bytes_moved * per_s if per_s and profile.bytes_moved else None
    hardware = catalogue().get(profile.device)
    peak = hardware.peak(case.component.dtype) if hardware else None
    bandwidth = hardware.bandwidth_bytes_per_s if hardware else None
    return SuiteRow(
        name=case.name,
        dtype=case.component.dtype,
        is_cold=case.is_cold,
        scale=case.scale,
        median_ms=latency.median_ms if latency else None,
        flops_per_s=flops,
        bytes_per_s=moved,
        flops_share=flops / peak if flops and peak else None,
        bandwidth_share=moved / bandwidth if moved and bandwidth else None,
        skipped=profile.reason,
    )
