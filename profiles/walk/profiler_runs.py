"""Profilers at work on one module, kept from stopping anything else."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import TypeVar

from profiles.profilers.protocol import Finding, OpenProfiler, Profiler, ProfilerRun
from profiles.walk.subject import Subject

__all__ = ["ProfilerRuns"]

T = TypeVar("T")


class ProfilerRuns:
    """The runs of every open profiler on one subject; what raises becomes a note, and is left out from then on."""

    def __init__(
        self,
        profilers: Sequence[tuple[Profiler, OpenProfiler]],
        subject: Subject,
        contexts: Sequence[Callable[[], AbstractContextManager[object]]] = (),
    ) -> None:
        self._contexts = contexts
        self._notes: list[str] = []
        self._runs: list[tuple[Profiler, ProfilerRun]] = []
        for profiler, opened in profilers:
            run = self._guarded(profiler, partial(opened.start, subject))
            if run is not None:
                self._runs.append((profiler, run))

    def visit(self, place: int) -> None:
        """The visit of that place, from 0, by the profilers that make so many."""
        for profiler, run in tuple(self._runs):
            notes = len(self._notes)
            if place < profiler.visits:
                self._guarded(profiler, run.visit)
            if len(self._notes) > notes:
                self._runs.remove((profiler, run))

    def findings(self) -> tuple[Finding, ...]:
        """What each found; the last holds the notes of those that raised."""
        found = [self._guarded(profiler, run.finding) for profiler, run in self._runs]
        return (*(finding for finding in found if finding is not None), Finding(notes=tuple(self._notes)))

    def _guarded(self, profiler: Profiler, action: Callable[[], T]) -> T | None:
        try:
            with ExitStack() as stack:
                for make in self._contexts:
                    stack.enter_context(make())
                return action()
        except Exception as error:  # noqa: BLE001 (a plug-in's failure, whatever it is, must not end the profile)
            self._notes.append(f"{profiler.name}: {type(error).__name__}: {error}")
            return None
