"""Profile any `nn.Module`, level by level: in the model, alone, and what it does outside its children."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from torch import nn

from profiles.capture import observe
from profiles.cold_cache import CacheSweeper
from profiles.errors import InputError
from profiles.fingerprint import current_fingerprint
from profiles.in_situ import InSituTimes
from profiles.isolation import IsolatedRun
from profiles.measure import thread_count
from profiles.model_profile import ModelProfile
from profiles.module_part import ModulePart, ProfilePart
from profiles.preprocessors.protocol import Preprocessor
from profiles.preservation import Preserved, preserved
from profiles.profile_options import ProfileOptions, ProfileProgress
from profiles.profile_rows import NEVER_CALLED, Measured, assemble, module_part
from profiles.profiler_runs import ProfilerRuns
from profiles.profilers.protocol import Profiler
from profiles.providers.target import InputBatch, Target
from profiles.subject import Subject
from profiles.timing import clock_for
from profiles.traffic import tensors_of
from profiles.tree import ModuleNode, breadth_first, module_tree

__all__ = ["ProfileOptions", "ProfileProgress", "Walk", "merge_parts", "profile_model", "profile_target", "walking"]

Progress = Callable[[ProfileProgress], None]


def profile_model(
    model: nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    options: ProfileOptions | None = None,
    preprocessors: Sequence[Preprocessor] = (),
    profilers: Sequence[Profiler] = (),
) -> ModelProfile:
    """Profile the forward pass of `model(*args, **kwargs)`; see `profile_target`."""
    target = Target(name="", model=model, batches=(InputBatch(args=args, kwargs=kwargs or {}),))
    return profile_target(target, options=options, preprocessors=preprocessors, profilers=profilers)


def profile_target(
    target: Target,
    *,
    options: ProfileOptions | None = None,
    preprocessors: Sequence[Preprocessor] = (),
    profilers: Sequence[Profiler] = (),
    progress: Progress | None = None,
) -> ModelProfile:
    """Profile the passes of a model over its batches, in the mode and on the device in which the model is.

    Every module gets a row, one that several parents share a row in each, with the calls made there; its parameters
    count in the first. One that raises carries the reason, while its children are measured and its figures summed
    from theirs. The model, the inputs and the random generators are left as they were found.
    """
    with walking(target, options=options, preprocessors=preprocessors, profilers=profilers) as walk:
        return merge_parts([walk.measure(progress=progress)])


def merge_parts(parts: Sequence[ProfilePart]) -> ModelProfile:
    """The profile of all modules, of whose shares these are the parts; of one measured twice the first part counts.

    Raises:
        InputError: there is no part.
    """
    if not parts:
        raise InputError("profile: must have at least one part, but got none")
    modules: dict[tuple[int, str], ModulePart] = {}
    for part in parts:
        for module in part.modules:
            modules.setdefault((module.index, module.row.phase), module)
    in_order = [modules[key] for key in sorted(modules)]
    figures = tuple(dict.fromkeys(figure for part in parts for figure in part.figures))
    return ModelProfile(
        name=parts[0].name,
        rows=assemble(in_order, figures),
        profile_seconds=sum(part.profile_seconds for part in parts),
        calls=tuple(call for module in in_order for call in module.calls),
        kernels=tuple(kernel for module in in_order if not module.row.path for kernel in module.kernels),
        figures=figures,
        costs=parts[0].costs,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


@contextmanager
def walking(
    target: Target,
    *,
    options: ProfileOptions | None = None,
    preprocessors: Sequence[Preprocessor] = (),
    profilers: Sequence[Profiler] = (),
) -> Iterator["Walk"]:
    """Capture a target once, to measure its modules share by share: `walk.measure(paths)`."""
    options = options or ProfileOptions()
    with thread_count(options.threads) if options.threads else nullcontext(), preserved(target.model):
        for preprocessor in preprocessors:
            target = preprocessor.prepare_target(target)
        with preserved(target.model) as held:
            yield Walk(target, options, preprocessors, profilers, held)


class Walk:
    """A captured model; made by `walking`."""

    def __init__(
        self,
        target: Target,
        options: ProfileOptions,
        preprocessors: Sequence[Preprocessor],
        profilers: Sequence[Profiler],
        held: Preserved,
    ) -> None:
        start = time.perf_counter()
        self.target = target
        self.nodes = module_tree(target.model, options.max_depth)
        self._options, self._preprocessors, self._profilers = options, preprocessors, profilers
        self._contexts = [preprocessor.context for preprocessor in preprocessors]
        self._torch_name = _device_of(target)
        self._observed = observe(target.model, self.nodes, target.batches, held=held)
        self._in_situ = InSituTimes(self.nodes, self._torch_name)
        self._fingerprint = current_fingerprint(self._torch_name, options.threads)
        self._capture_seconds = time.perf_counter() - start

    @property
    def paths(self) -> tuple[str, ...]:
        """Of all modules, in the order in which they are visited: level by level."""
        return tuple(node.path for node in breadth_first(self.nodes))

    def measure(self, paths: Collection[str] | None = None, progress: Progress | None = None) -> ProfilePart:
        """Visit the modules of these paths (None: all) in turn, again and again, and return what was found."""
        tally = _Tally(progress)
        chosen = [node for node in breadth_first(self.nodes) if paths is None or node.path in paths]
        sweeper = CacheSweeper(self._torch_name) if self._options.cold else None
        work = [_Work(node, *self._start(node, sweeper)) for node in chosen]
        rounds = max((self._options.visits, *(profiler.visits for profiler in self._profilers)))
        for place in range(rounds):
            if self._in_situ.visits < self._options.visits:
                self._in_situ.visit(self.target.model, self.target.batches, self._options.samples_per_visit)
            for item in work:
                item.visit(place, self._options.visits)
                tally.tell(item.node.path, rounds * len(work))
        modules = tuple(self._part(item) for item in work)
        return ProfilePart(
            name=self.target.name,
            modules=modules,
            profile_seconds=tally.elapsed_s + self._capture_seconds,
            figures=tuple(figure for profiler in self._profilers for figure in profiler.figures),
            costs={"capture_seconds": self._capture_seconds},
            notes=self.target.notes,
        )

    def _start(self, node: ModuleNode, sweeper: CacheSweeper | None) -> tuple[IsolatedRun, ProfilerRuns]:
        seen = self._observed[node.index]
        subject = Subject(
            path=node.path,
            module=node.module,
            original=node.module,
            calls=tuple(seen.calls),
            torch_name=self._torch_name,
        )
        failure = seen.failure or ("" if seen.calls else NEVER_CALLED)
        try:
            for preprocessor in self._preprocessors if not failure else ():
                subject = preprocessor.prepare_subject(subject)
        except Exception as error:  # noqa: BLE001 (a plug-in's failure is this module's alone)
            failure = f"{type(error).__name__}: {error}"
        run = IsolatedRun(
            subject=subject,
            clock=clock_for(self._torch_name),
            timing=self._options.timing,
            sweeper=sweeper,
            contexts=self._contexts,
            failure=failure,
        )
        return run, ProfilerRuns(() if failure else self._profilers, subject, self._contexts)

    def _part(self, item: "_Work") -> ModulePart:
        node = item.node
        return module_part(
            Measured(
                node=node,
                seen=self._observed[node.index],
                fingerprint=self._fingerprint,
                preprocessors=tuple(preprocessor.name for preprocessor in self._preprocessors),
                in_situ=self._in_situ.inclusive(node.index),
                own=self._in_situ.own(node.index),
                findings=(item.run.finding(), *item.profilers.findings()),
                calls=item.run.call_profiles([batch.label for batch in self.target.batches]),
                failure=item.run.failure,
            )
        )


@dataclass(frozen=True, slots=True)
class _Work:
    """A module and what measures it."""

    node: ModuleNode
    run: IsolatedRun
    profilers: ProfilerRuns

    def visit(self, place: int, visits: int) -> None:
        if place < visits:
            self.run.visit()
        if not self.run.failure:
            self.profilers.visit(place)


class _Tally:
    """Counts visits, and tells."""

    def __init__(self, progress: Progress | None) -> None:
        self._start, self._progress, self._done = time.perf_counter(), progress, 0

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._start

    def tell(self, path: str, total: int) -> None:
        self._done += 1
        if self._progress:
            done, elapsed_s = self._done, self.elapsed_s
            remaining_s = elapsed_s / done * (total - done)
            told = ProfileProgress(path=path, done=done, total=total, elapsed_s=elapsed_s, remaining_s=remaining_s)
            self._progress(told)


def _device_of(target: Target) -> str:
    model = target.model
    tensors = (*model.parameters(), *model.buffers(), *tensors_of((target.args, target.kwargs)))
    return str(tensors[0].device) if tensors else "cpu"
