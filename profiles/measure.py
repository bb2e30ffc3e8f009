"""Measure a group of components in turns: every executor runs these functions."""

import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import torch
from torch import nn

from profiles.agreement import VISITS_APART, agreeing, apart
from profiles.cold_cache import CacheSweeper
from profiles.component import Component, Work
from profiles.core_probe import QuietCore
from profiles.devices import LocalDevice, resolve_device
from profiles.fingerprint import current_fingerprint, current_timestamp
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile, Fingerprint, Latency
from profiles.sweep_options import SweepOptions
from profiles.timing import clock_for, summarize, time_visit
from profiles.utilisation import bandwidth_share, model_flops_share
from profiles.visits import Sample, Visit

__all__ = ["CONTENDED_VISITS", "best_visits", "measure_group", "move_to", "skipped_row", "thread_count"]

CONTENDED_VISITS = "contended_visits"
T = TypeVar("T")


def measure_group(
    components: Sequence[Component],
    provider: ComponentProvider,
    device: str,
    options: SweepOptions,
    known: Mapping[str, Sequence[Visit]] | None = None,
) -> Iterator[Visit | ComponentProfile]:
    """Every visit when it is made, and one row per component after its last.

    All components are built, then visited in turn, so that the visits of each are apart in time. `known` holds visits
    by content hash that need not be made again. One that raises becomes a `skipped` row with the reason. Call under
    `thread_count(options.threads)`.
    """
    fingerprint = current_fingerprint(device, options.threads)
    local = resolve_device(device)
    subjects: list[_Subject] = []
    for component in components:
        visits = (known or {}).get(component.content_hash(fingerprint.device_key()), ())
        built = _attempt(partial(_build, component, provider, local, options, visits))
        if isinstance(built, _Failure):
            yield skipped_row(component, fingerprint, built.reason)
        else:
            subjects.append(built)
    sweep_caches = CacheSweeper(local.torch_name) if options.cold else None
    core = _quiet_core(options, local, subjects)
    gc.collect()
    while subjects:
        start = time.perf_counter()
        for subject in tuple(subjects):
            subject.judge_anew(core)
            if options.visits_left(subject.visits):
                visit = _attempt(partial(subject.visit, fingerprint, local, options, sweep_caches, core))
                if isinstance(visit, _Failure):
                    subjects.remove(subject)
                    yield skipped_row(subject.component, fingerprint, visit.reason)
                    continue
                subject.judge_anew(core)
                yield subject.visits[-1]
            if not options.visits_left(subject.visits):
                subjects.remove(subject)
                yield subject.row(fingerprint, local, options)
        if subjects:
            time.sleep(max(0.0, options.least_gap_s - (time.perf_counter() - start)))


def best_visits(visits: Sequence[Visit], count: int) -> tuple[Visit, ...]:
    """Those without contention where there are enough, else those with the least of it as well; in order of time.

    More than `count` are kept where all are clean: an earlier sweep may have wanted more.
    """
    clean = [visit for visit in visits if not visit.is_contended]
    rest = sorted((visit for visit in visits if visit.is_contended), key=_wall_over_cpu)
    kept = [*clean, *rest[: max(0, count - len(clean))]]
    return tuple(visit for visit in visits if visit in kept)


def skipped_row(component: Component, fingerprint: Fingerprint, reason: str) -> ComponentProfile:
    """The row of a component that could not be measured."""
    now = replace(fingerprint, timestamp=current_timestamp())
    return replace(_blank_row(component, now), provenance="skipped", reason=reason)


def move_to(value: Any, device: torch.device) -> Any:
    """Tensors in nested tuples, lists and dicts, moved; anything else that has a `.to` as well, the rest as it is."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(move_to(part, device) for part in value))
    if isinstance(value, tuple | list):
        return type(value)(move_to(part, device) for part in value)
    if isinstance(value, Mapping):
        return {key: move_to(part, device) for key, part in value.items()}
    return value.to(device) if hasattr(value, "to") else value


@contextmanager
def thread_count(threads: int) -> Iterator[None]:
    """Torch's thread count inside the block; put back afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Failure:
    reason: str


@dataclass(kw_only=True, slots=True, eq=False)
class _Subject:
    """A built component and the visits made of it so far."""

    component: Component
    module: nn.Module
    args: tuple[Any, ...]
    work: Work
    visits: list[Visit]
    before: Callable[[], object] | None = None

    def judge_anew(self, core: QuietCore | None) -> None:
        """Count visits as contended that were made before a quieter core was seen."""
        if core:
            self.visits = [visit.judged(core.limit_us) for visit in self.visits]

    def visit(
        self,
        fingerprint: Fingerprint,
        local: LocalDevice,
        options: SweepOptions,
        sweep_caches: CacheSweeper | None,
        core: QuietCore | None,
    ) -> Visit:
        module, args = self.module, self.args

        def call() -> object:
            return module(*args)

        clock, timing = clock_for(local.torch_name), options.timing
        lacks_warm, lacks_cold = options.warm_left(self.visits) > 0, options.cold_left(self.visits) > 0
        # Backward passes and optimizers' steps need what inference mode leaves out.
        mode = torch.inference_mode() if self.component.phase == "forward" else torch.no_grad()
        if core:
            core.begin_visit()
        with mode:
            warm = time_visit(call, clock, timing, self.before, core=core) if lacks_warm else ()
            cold = time_visit(call, clock, timing, sweep_caches, core=core) if lacks_cold else ()
        visit = Visit(
            content_hash=self.component.content_hash(fingerprint.device_key()),
            timestamp=current_timestamp(),
            warm=warm,
            cold=cold,
            is_contended=clock.sees_contention and _is_contended((*warm, *cold), timing.max_wall_over_cpu),
            core_us=core.core_us if core else None,
        )
        self.visits.append(visit)
        return visit

    def row(self, fingerprint: Fingerprint, local: LocalDevice, options: SweepOptions) -> ComponentProfile:
        used = {name: self._used(name, options) for name in ("warm", "cold")}
        warm, cold = (self._latency(name, used[name], local, options) for name in ("warm", "cold"))
        row = _blank_row(self.component, replace(fingerprint, timestamp=current_timestamp()))
        latency = warm or cold
        median_ms = latency.median_ms if latency else 0.0
        return replace(
            row,
            class_name=type(self.module).__name__,
            warm=warm,
            cold=cold,
            flops=self.work.flops,
            bytes_moved=self.work.bytes_moved,
            parameter_bytes=self.work.parameter_bytes,
            mfu=model_flops_share(self.work.flops, median_ms, local.name, self.component.dtype),
            bandwidth_share=bandwidth_share(self.work.bytes_moved, median_ms, local.name),
            figures=self._figures(used, options),
        )

    def _used(self, name: str, options: SweepOptions) -> tuple[Visit, ...]:
        made = self._made(name)
        clean = [visit for visit in made if not visit.is_contended]
        if options.quiet_core is not None and len(clean) > 1:
            return tuple(clean)
        if options.agreement is None:
            return best_visits(made, options.visits)
        taken = [getattr(visit, name) for visit in made]
        return tuple(made[place] for place in agreeing(taken, options.agreement))

    def _made(self, name: str) -> list[Visit]:
        return [visit for visit in self.visits if getattr(visit, name)]

    def _latency(self, name: str, used: Sequence[Visit], local: LocalDevice, options: SweepOptions) -> Latency | None:
        if not used:
            return None
        sees_contention = clock_for(local.torch_name).sees_contention
        latency = summarize([getattr(visit, name) for visit in used], sees_contention=sees_contention)
        if (options.agreement or options.quiet_core) is None:
            return latency
        # Those that were not used count as made, or a sweep would make them again.
        return replace(latency, visits=len(self._made(name)))

    def _figures(self, used: Mapping[str, Sequence[Visit]], options: SweepOptions) -> dict[str, float | None]:
        contended = sum(visit.is_contended for visits in used.values() for visit in visits)
        figures: dict[str, float | None] = {CONTENDED_VISITS: float(contended)} if contended else {}
        if (options.agreement or options.quiet_core) is not None:
            name = "warm" if used["warm"] else "cold"
            figures[VISITS_APART] = apart([getattr(visit, name) for visit in used[name]])
        return figures


def _build(
    component: Component,
    provider: ComponentProvider,
    local: LocalDevice,
    options: SweepOptions,
    visits: Sequence[Visit],
) -> _Subject:
    work = provider.work(component)
    # A provider may seed the global generator; the sweep's caller must not notice.
    with torch.random.fork_rng(devices=[]):
        built = provider.build(component, options.seed)
    return _Subject(
        component=component,
        module=built.module.eval().to(local.torch_device),
        args=move_to(built.args, local.torch_device),
        work=work,
        visits=list(visits),
        before=move_to(built.before, local.torch_device),
    )


def _quiet_core(options: SweepOptions, local: LocalDevice, subjects: Sequence[_Subject]) -> QuietCore | None:
    if options.quiet_core is None or not clock_for(local.torch_name).sees_contention:
        return None
    core = QuietCore(options.quiet_core, patience_s=options.patience_s(len(subjects)))
    for reading_us in (visit.core_us for subject in subjects for visit in subject.visits):
        if reading_us is not None:
            core.learn(reading_us)
    return core


def _wall_over_cpu(visit: Visit) -> float:
    return _ratio((*visit.warm, *visit.cold))


def _is_contended(samples: Sequence[Sample], limit: float) -> bool:
    return bool(samples) and _ratio(samples) > limit


def _ratio(samples: Sequence[Sample]) -> float:
    cpu_ms = sum(sample.cpu_ms for sample in samples)
    return sum(sample.wall_ms for sample in samples) / cpu_ms if cpu_ms > 0 else math.inf


def _attempt(action: Callable[[], T]) -> T | _Failure:
    try:
        return action()
    except Exception as error:  # noqa: BLE001 (one component's failure, whatever it is, must not end the sweep)
        return _Failure(reason=f"{type(error).__name__}: {error}")


def _blank_row(component: Component, fingerprint: Fingerprint) -> ComponentProfile:
    return ComponentProfile(
        path="",
        class_name="",
        kind=component.kind,
        spec=component.spec(),
        content_hash=component.content_hash(fingerprint.device_key()),
        device=fingerprint.device,
        batch=component.batch,
        dtype=component.dtype,
        phase=component.phase,
        fingerprint=fingerprint,
        provenance="measured",
    )
