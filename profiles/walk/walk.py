"""Profile any `nn.Module`, level by level: in the model, alone, and what it does outside its children.

`profile_target` does all of it in one go. The same in shares, on one machine or on many:

    with walking(target, options=options) as walk:     # captures the target once
        part = walk.measure(["blocks.0", "blocks.1"])  # as often as wanted, each path once
    profile = merge_parts([part, ...])                 # needs every path of `walk.paths` in some part

A part is plain data: it can be pickled, or stored module by module (`ModulePart`), and what is stored need not be
measured again. The first share times the model's own passes, and the visits of each are spread over it.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from profiles.cold_cache import CacheSweeper
from profiles.core_probe import QuietCore
from profiles.errors import InputError
from profiles.fingerprint import current_fingerprint
from profiles.measure import thread_count
from profiles.model_profile import ModelProfile
from profiles.preprocessors.protocol import Preprocessor
from profiles.profile_options import ProfileOptions, ProfileProgress
from profiles.profilers.protocol import Finding, Profiler
from profiles.providers.target import InputBatch, Target
from profiles.timing import clock_for
from profiles.walk.backward import backward_calls, backward_flops, backward_of
from profiles.walk.capture import Observation, observe
from profiles.walk.compute_dtype import with_compute_dtype
from profiles.walk.current_device import device_of, on_device
from profiles.walk.in_situ import InSituTimes
from profiles.walk.in_situ_backward import InSituBackward
from profiles.walk.isolation import INTERVAL_FIGURES, IsolatedRun, Ready, forward_of
from profiles.walk.larger_calls import with_larger_calls
from profiles.walk.merging import merge_parts
from profiles.walk.model_identity import model_identity
from profiles.walk.model_passes import ModelPasses
from profiles.walk.module_part import ModulePart, ProfilePart
from profiles.walk.preservation import Preserved, preserved
from profiles.walk.profile_rows import Measured, module_part, why_never_called
from profiles.walk.profiler_runs import ProfilerRuns
from profiles.walk.selection import check_filters, why_left_out
from profiles.walk.subject import Subject
from profiles.walk.tree import ModuleNode, breadth_first, module_tree
from profiles.walk.visiting import Progress, Visited, visit_in_turn

__all__ = ["ProfileOptions", "ProfileProgress", "Walk", "merge_parts", "profile_model", "profile_target", "walking"]


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


@contextmanager
def walking(
    target: Target,
    *,
    options: ProfileOptions | None = None,
    preprocessors: Sequence[Preprocessor] = (),
    profilers: Sequence[Profiler] = (),
) -> Iterator["Walk"]:
    """Capture a target once, to measure its modules share by share: `walk.measure(paths)`.

    Raises:
        InputError: a profiler needs a folder, and `options` have none.
    """
    options, given = options or ProfileOptions(), target.model
    for profiler in profilers:
        if profiler.needs_folder and options.folder is None:
            raise InputError(f"profiler {profiler.name}: must have a folder to write to, but got none")
    preprocessors = sorted(preprocessors, key=lambda preprocessor: preprocessor.stage == "compile")
    with ExitStack() as stack:
        stack.enter_context(on_device(device_of(target)))
        stack.enter_context(thread_count(options.threads) if options.threads else nullcontext())
        held = stack.enter_context(preserved(given, copies_parameters=options.backward))
        for preprocessor in preprocessors:
            target = preprocessor.prepare_target(target)
        if target.model is not given:
            held = stack.enter_context(preserved(target.model, copies_parameters=options.backward))
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
        spent = _Spent()
        self.target = target
        self.nodes = module_tree(target.model, options.max_depth)
        check_filters(self.nodes, options)
        self._options, self._preprocessors, self._profilers = options, preprocessors, profilers
        self._opened = [(profiler, profiler.open(options.folder)) for profiler in profilers]
        self._contexts = [preprocessor.context for preprocessor in preprocessors]
        self._torch_name = device_of(target)
        self._observed = self._capture(held)
        self._fingerprint = current_fingerprint(self._torch_name, options.threads)
        self._sweeper = CacheSweeper(self._torch_name) if options.cold else None
        self._core = _quiet_core(options, self._torch_name)
        self._capture_s = spent.so_far()
        contexts = [*self._contexts, torch.enable_grad if options.backward else torch.no_grad]
        where = ModelPasses(self.nodes, target.model, target.batches, self._torch_name, contexts)
        self._in_situ = InSituTimes(where, options.timing, self._core)
        self._in_situ_backward = InSituBackward(where, self._core)

    @property
    def paths(self) -> tuple[str, ...]:
        """Of all modules, in the order in which they are visited: level by level."""
        return tuple(node.path for node in breadth_first(self.nodes))

    @property
    def identity(self) -> str:
        """The same for walks whose parts may make one profile; see `profiles.walk.model_identity`."""
        return model_identity(self.nodes, self._observed)

    def shares(self) -> Mapping[str, float]:
        """By path, each module's part of the model's time in the passes so far, of which the first is made here."""
        self._pass_in_model(0)
        found = {node.path: self._in_situ.share(node.index) for node in self.nodes}
        return {path: share for path, share in found.items() if share is not None}

    def measure(
        self,
        paths: Collection[str] | None = None,
        progress: Progress | None = None,
        *,
        shares: Mapping[str, float] | None = None,
    ) -> ProfilePart:
        """Visit the modules of these paths (None: all) in turn, again and again, and return what was found.

        `shares` are those by which `min_share` decides, None for this walk's own: walks of one model decide alike by
        the shares of one of them.

        Raises:
            InputError: a path that is not one of `paths`.
        """
        if unknown := sorted(set(paths or ()) - set(self.paths)):
            raise InputError(f"profile: paths must be those of modules, but got {unknown[0]!r}")
        spent = _Spent()
        chosen = [node for node in breadth_first(self.nodes) if paths is None or node.path in paths]
        shares = self.shares() if shares is None else shares
        work = [item for node in chosen for item in self._start(node, shares.get(node.path))]
        rounds = max((self._options.visits, *(profiler.visits for profiler in self._profilers)))
        visit_in_turn(work, self._options, rounds, self._pass_in_model, progress)
        modules, costs = tuple(map(self._part, work)), self._costs(spent)
        return ProfilePart(
            name=self.target.name,
            modules=modules,
            profile_seconds=costs["profile_seconds"],
            figures=(
                *INTERVAL_FIGURES,
                *(figure for preprocessor in self._preprocessors for figure in preprocessor.figures),
                *(figure for profiler in self._profilers for figure in profiler.figures),
            ),
            costs=costs,
            notes=(*self.target.notes, *filter(None, (self._in_situ_backward.failure, self._beside_others()))),
        )

    def _beside_others(self) -> str:
        """What a profile that waited in vain for a quiet core says of its passes."""
        if self._core is None or self._in_situ.is_clean:
            return ""
        return "the passes of the whole model were timed beside other work on the core, which was not quiet long enough"

    def _capture(self, held: Preserved) -> tuple[Observation, ...]:
        with self._all_contexts():
            target, is_grad = self.target, self._options.backward
            return observe(target.model, self.nodes, target.batches, is_grad=is_grad, held=held)

    @contextmanager
    def _all_contexts(self) -> Iterator[None]:
        with ExitStack() as stack:
            for make in self._contexts:
                stack.enter_context(make())
            yield

    def _pass_in_model(self, place: int) -> None:
        """The timed passes of a round, once."""
        if self._in_situ.visits <= place < self._options.visits:
            self._in_situ.visit(self._options.samples_per_visit)
            if self._options.backward:
                self._in_situ_backward.visit()

    def _start(self, node: ModuleNode, share: float | None) -> Iterator[Visited]:
        left_out = why_left_out(node, self._options, share)
        subject, failure = self._prepared(node, left_out)
        yield self._measured_by(node, subject, forward_of, failure, left_out)
        if self._options.backward:
            # What was found of the forward pass is not of this one, but for the size of the inputs.
            figures = {name: value for name, value in subject.figures.items() if name == "batch"}
            subject = replace(subject, phase="backward", calls=backward_calls(subject), figures=figures)
            failure = failure or ("" if subject.calls else "no gradients are recorded where the model calls it")
            yield self._measured_by(node, subject, backward_of, failure, left_out)

    def _prepared(self, node: ModuleNode, left_out: str) -> tuple[Subject, str]:
        """The module as it is run alone, and why it is not."""
        seen = self._observed[node.index]
        subject = Subject(
            path=node.path,
            module=node.module,
            original=node.module,
            calls=tuple(seen.calls),
            torch_name=self._torch_name,
        )
        failure = left_out or seen.failure or ("" if seen.calls else why_never_called(node, seen))
        try:
            with self._all_contexts():
                for preprocessor in self._preprocessors if not failure else ():
                    subject = preprocessor.prepare_subject(subject)
        except Exception as error:  # noqa: BLE001 (a plug-in's failure is this module's alone)
            failure = f"{type(error).__name__}: {error}"
        return subject, failure

    def _measured_by(self, node: ModuleNode, subject: Subject, ready: Ready, failure: str, left_out: str) -> Visited:
        run = IsolatedRun(
            subject=subject,
            clock=clock_for(self._torch_name),
            timing=self._options.timing,
            sweeper=self._sweeper,
            contexts=self._contexts,
            ready=ready,
            core=self._core,
            failure=failure,
        )
        profilers = ProfilerRuns(() if failure else self._opened, subject, self._contexts)
        return Visited(node, run, profilers, left_out)

    def _part(self, item: Visited) -> ModulePart:
        node, prepared = item.node, item.run.subject
        is_forward = prepared.phase == "forward"
        found = (Finding(figures=prepared.figures, notes=prepared.notes), item.run.finding())
        part = module_part(
            Measured(
                node=node,
                seen=self._observed[node.index],
                fingerprint=self._fingerprint,
                phase=prepared.phase,
                preprocessors=tuple(preprocessor.name for preprocessor in self._preprocessors),
                in_situ=(self._in_situ if is_forward else self._in_situ_backward).inclusive(node.index),
                own=self._in_situ.own(node.index) if is_forward else None,
                findings=(*found, *(() if is_forward else self._backward_flops(item)), *item.profilers.findings()),
                calls=item.run.call_profiles([batch.label for batch in self.target.batches]),
                failure=item.run.failure,
                left_out=item.left_out,
                true_parameter_bytes=self.target.true_parameter_bytes.get(node.path),
            )
        )
        part = with_larger_calls(part, prepared.figures) if self.target.is_sample else part
        return with_compute_dtype(part, self.target.compute_dtypes)

    def _backward_flops(self, item: Visited) -> tuple[Finding, ...]:
        if item.run.failure:
            return ()
        try:
            with self._all_contexts():
                return (Finding(figures={"flops": backward_flops(item.run.subject)}),)
        except Exception as error:  # noqa: BLE001 (its latency is known all the same)
            return (Finding(notes=(f"FLOPs could not be counted: {type(error).__name__}: {error}",)),)

    def _costs(self, spent: "_Spent") -> Mapping[str, float]:
        """What looking took, in seconds and in CPU time of plain passes, these passes, and what timing calls adds."""
        capture_s, capture_cpu_s = self._capture_s
        # Of all parts the first one pays for it.
        self._capture_s = (0.0, 0.0)
        wall_s, cpu_s = spent.so_far()
        return {
            "capture_seconds": capture_s,
            "profile_seconds": capture_s + wall_s,
            "forward_ms": self._in_situ.plain_ms,
            "forward_p25_ms": self._in_situ.plain_p25_ms,
            "forwards": 1e3 * (capture_cpu_s + cpu_s) / self._in_situ.plain_process_ms,
            "hook_overhead": self._in_situ.overhead,
        }


def _quiet_core(options: ProfileOptions, torch_name: str) -> QuietCore | None:
    if options.quiet_core is None or torch_name != "cpu":
        return None
    return QuietCore(options.quiet_core, patience_s=options.patience_s)


class _Spent:
    """Time since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def so_far(self) -> tuple[float, float]:
        """Seconds by the wall, and of CPU time."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu
