"""Measure components into a store: resumable at any moment, in an order that repeats."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from profiles.component import Component
from profiles.executors.protocol import Executor
from profiles.hardware import LOCAL_CPU
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.sweep_options import SweepOptions

__all__ = ["SweepOptions", "SweepProgress", "SweepResult", "plan_groups", "sweep"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepProgress:
    """Counts after a row was written."""

    done: int
    total: int
    skipped: int
    elapsed_s: float
    remaining_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepResult:
    """How many components were measured now, how many had a row already, and which could not be measured.

    `skipped` holds (content hash, reason), of this sweep and of earlier ones.
    """

    measured: int
    reused: int
    skipped: tuple[tuple[str, str], ...]
    seconds: float = 0.0


def sweep(
    components: Sequence[Component],
    provider: ComponentProvider,
    store: ProfileStore,
    *,
    device: str = LOCAL_CPU,
    executor: Executor | None = None,
    options: SweepOptions | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> SweepResult:
    """Measure every component that the store does not know yet, and append its row.

    A component that cannot be measured gets a `skipped` row with the reason, and the sweep goes on.

    Raises:
        InputError: the device is not here.
        StorageError: a row cannot be written; rows written before stay.
    """
    options = options or SweepOptions()
    executor = executor or _in_process()
    start = time.perf_counter()
    key = executor.fingerprint(device, options.threads).device_key()
    wanted = {component.content_hash(key): component for component in components}
    known = _known_rows(store, wanted, options)
    skipped = {name: row.reason for name, row in known.items() if row.provenance == "skipped"}
    missing = {name: component for name, component in wanted.items() if name not in known}
    failed: dict[str, str] = {}
    written: set[str] = set()
    for row in executor.measure(plan_groups(missing, provider, options), provider, device, options):
        # A worker that died late may have its group measured twice.
        if row.content_hash not in missing or row.content_hash in written:
            continue
        store.append(row)
        written.add(row.content_hash)
        if row.provenance == "skipped":
            failed[row.content_hash] = row.reason
        if progress:
            progress(_progress(len(written), len(missing), len(failed), time.perf_counter() - start))
    return SweepResult(
        measured=len(written) - len(failed),
        reused=len(known) - len(skipped),
        skipped=tuple(sorted((skipped | failed).items())),
        seconds=time.perf_counter() - start,
    )


def plan_groups(
    missing: Mapping[str, Component], provider: ComponentProvider, options: SweepOptions
) -> tuple[tuple[Component, ...], ...]:
    """Groups in an order that depends on the content hashes and the seed alone."""
    names = sorted(missing)
    random.Random(options.seed).shuffle(names)
    groups: list[list[Component]] = []
    room_bytes = 0
    for name in names:
        size_bytes = _parameter_bytes(missing[name], provider)
        if not groups or len(groups[-1]) == options.group_size or size_bytes > room_bytes:
            groups.append([])
            room_bytes = options.group_bytes
        groups[-1].append(missing[name])
        room_bytes -= size_bytes
    return tuple(tuple(group) for group in groups)


def _known_rows(
    store: ProfileStore, wanted: Mapping[str, Component], options: SweepOptions
) -> dict[str, ComponentProfile]:
    return {
        row.content_hash: row
        for row in store.load()
        if row.content_hash in wanted and not (options.retry_skipped and row.provenance == "skipped")
    }


def _in_process() -> Executor:
    # Loads torch.
    from profiles.executors.in_process import InProcessExecutor

    return InProcessExecutor()


def _parameter_bytes(component: Component, provider: ComponentProvider) -> int:
    try:
        return provider.work(component).parameter_bytes
    except Exception:  # noqa: BLE001 (measuring it will meet the same error, and record it)
        return 0


def _progress(done: int, total: int, skipped: int, elapsed_s: float) -> SweepProgress:
    remaining_s = elapsed_s / done * (total - done)
    return SweepProgress(done=done, total=total, skipped=skipped, elapsed_s=elapsed_s, remaining_s=remaining_s)
