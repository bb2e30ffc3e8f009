"""Measure components into a store: resumable at any moment, in an order that repeats."""

import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from profiles.component import Component
from profiles.executors.protocol import Executor
from profiles.hardware import LOCAL_CPU
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.sweep_options import SweepOptions
from profiles.visits import Visit, VisitLog

__all__ = ["SweepOptions", "SweepProgress", "SweepResult", "plan_groups", "sweep"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepProgress:
    """Counts after a visit or a row was written: `done` of `total` rows, and the visits that are still to be made."""

    done: int
    total: int
    skipped: int
    visits_left: int
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
    """Measure every component that the store does not know yet as wanted, and append its row.

    Visits are stored when they are made, and a sweep goes on after those of one that was killed. A component that
    cannot be measured gets a `skipped` row with the reason, and the sweep goes on.

    Raises:
        InputError: the device is not here.
        StorageError: a visit or row cannot be written; what was written before stays.
    """
    options = options or SweepOptions()
    executor = executor or _in_process()
    key = executor.fingerprint(device, options.threads).device_key()
    wanted = {component.content_hash(key): component for component in components}
    stored = {row.content_hash: row for row in store.load() if row.content_hash in wanted}
    known = {name: row for name, row in stored.items() if _answers(row, options)}
    missing = {name: component for name, component in wanted.items() if name not in known}
    skipped = {name: row.reason for name, row in known.items() if row.provenance == "skipped"}
    tally = _Tally(missing, store, options, progress)
    for row in executor.measure(plan_groups(missing, provider, options), provider, device, options, tally.log):
        # A worker that died late may have its rows made twice.
        if row.content_hash in missing and row.content_hash not in tally.finished:
            tally.finish(row, stored.get(row.content_hash))
    return SweepResult(
        measured=len(tally.finished) - len(tally.failed),
        reused=len(known) - len(skipped),
        skipped=tuple(sorted((skipped | tally.failed).items())),
        seconds=tally.elapsed_s,
    )


def plan_groups(
    missing: Mapping[str, Component], provider: ComponentProvider, options: SweepOptions
) -> tuple[tuple[Component, ...], ...]:
    """Groups in an order that depends on the content hashes and the seed alone."""
    names = sorted(missing)
    random.Random(options.seed).shuffle(names)
    groups: list[list[Component]] = []
    room_bytes = 0.0
    for name in names:
        size_bytes = _memory_bytes(missing[name], provider)
        if not groups or len(groups[-1]) == options.group_size or size_bytes > room_bytes:
            groups.append([])
            room_bytes = options.group_bytes
        groups[-1].append(missing[name])
        room_bytes -= size_bytes
    return tuple(tuple(group) for group in groups)


class _Tally:
    """Writes visits and rows as they come, counts them, and tells."""

    def __init__(
        self,
        missing: Collection[str],
        store: ProfileStore,
        options: SweepOptions,
        progress: Callable[[SweepProgress], None] | None,
    ) -> None:
        self._start = time.perf_counter()
        self._store, self._options, self._progress = store, options, progress
        stored = store.visits() if missing else ()
        self.log = VisitLog((visit for visit in stored if visit.content_hash in missing), self._write_visit)
        self._left = {name: options.visits_left(self.log.of([name]).get(name, ())) for name in missing}
        self._made = 0
        self.finished: set[str] = set()
        self.failed: dict[str, str] = {}

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._start

    def finish(self, row: ComponentProfile, before: ComponentProfile | None) -> None:
        if row.provenance == "skipped":
            self.failed[row.content_hash] = row.reason
        if before is None or before.provenance == "skipped":
            self._store.append(row)
        elif row.provenance != "skipped":
            self._store.append(_with_latencies_of(before, row))
        self.finished.add(row.content_hash)
        self._left[row.content_hash] = 0
        self._tell()

    def _write_visit(self, visit: Visit) -> None:
        if visit.content_hash not in self._left:
            return
        self._store.append_visit(visit)
        self._made += 1
        known = self.log.of([visit.content_hash]).get(visit.content_hash, ())
        self._left[visit.content_hash] = self._options.visits_left((*known, visit))
        self._tell()

    def _tell(self) -> None:
        if self._progress:
            left, elapsed_s = sum(self._left.values()), self.elapsed_s
            self._progress(
                SweepProgress(
                    done=len(self.finished),
                    total=len(self._left),
                    skipped=len(self.failed),
                    visits_left=left,
                    elapsed_s=elapsed_s,
                    remaining_s=elapsed_s / self._made * left if self._made else 0.0,
                )
            )


def _answers(row: ComponentProfile, options: SweepOptions) -> bool:
    """Whether the row has each wanted latency over enough visits."""
    if row.provenance == "skipped":
        return not options.retry_skipped
    wanted = (row.warm,) * options.warm + (row.cold,) * options.cold
    return all(latency is not None and latency.visits >= options.visits for latency in wanted)


def _with_latencies_of(before: ComponentProfile, row: ComponentProfile) -> ComponentProfile:
    """The new row with the latencies of the old one that were not taken again."""
    if row.warm is None and before.warm is not None:
        # The shares of the peaks are those of the warm latency where there is one.
        row = replace(row, warm=before.warm, mfu=before.mfu, bandwidth_share=before.bandwidth_share)
    return replace(row, cold=row.cold or before.cold)


def _in_process() -> Executor:
    # Loads torch.
    from profiles.executors.in_process import InProcessExecutor

    return InProcessExecutor()


def _memory_bytes(component: Component, provider: ComponentProvider) -> float:
    """Parameters and inputs, from above: the bytes moved hold the inputs."""
    try:
        work = provider.work(component)
    except Exception:  # noqa: BLE001 (measuring it will meet the same error, and record it)
        return 0.0
    return work.parameter_bytes + work.bytes_moved
