"""A trace of one call of each module, as Kineto records it: opens in Perfetto."""

import time
from contextlib import ExitStack
from pathlib import Path

from profiles.errors import InputError
from profiles.profilers.artefacts import artefact_path, level_of
from profiles.profilers.option_text import parse_options
from profiles.profilers.protocol import Figure, Finding
from profiles.profilers.ranges import module_ranges
from profiles.profilers.replay import Replay
from profiles.profilers.session import profiler_session
from profiles.walk.subject import Subject
from profiles.walk.tree import module_tree

__all__ = ["KinetoTraces"]


class KinetoTraces:
    """`traces/PATH.json.gz` of the modules down to `depth` (None: all) that take at least `share` of the model's time.

    Of a module that is called with several signatures the first is traced, after one call that is not.
    """

    name = "kineto"
    visits = 1
    needs_folder = True
    figures: tuple[Figure, ...] = ()

    def __init__(self, *, depth: int | None = None, share: float = 0.0) -> None:
        if depth is not None and depth < 0:
            raise InputError(f"profiler kineto: depth must be >= 0, but got {depth}")
        if not 0 <= share <= 1:
            raise InputError(f"profiler kineto: share must be in 0 to 1, but got {share}")
        self._depth, self._share = depth, share

    @classmethod
    def from_text(cls, text: str) -> "KinetoTraces":
        """Of the options `depth` and `share`."""
        return cls(**parse_options(cls.name, text, {"depth": int, "share": float}))

    def open(self, folder: Path | None) -> "_OpenTraces":
        """For one model, by whose time the share is."""
        return _OpenTraces(folder, self._depth, self._share)


class _OpenTraces:
    def __init__(self, folder: Path | None, depth: int | None, share: float) -> None:
        self.folder, self._depth, self._share = folder, depth, share
        self._model_seconds: dict[str, float] = {}

    def start(self, subject: Subject) -> "_TraceRun | None":
        """Nothing below the depth asked for."""
        is_deeper = self._depth is not None and level_of(subject) > self._depth
        return None if is_deeper else _TraceRun(self, subject)

    def is_worth_it(self, subject: Subject, seconds: float) -> bool:
        """Whether a module that takes so long is to have its trace kept; the model always is."""
        if subject.is_model:
            self._model_seconds[subject.phase] = seconds
        return seconds >= self._share * self._model_seconds.get(subject.phase, 0.0)


class _TraceRun:
    def __init__(self, traces: _OpenTraces, subject: Subject) -> None:
        self._traces, self._subject = traces, subject
        self._path: Path | None = None

    def visit(self) -> None:
        subject = self._subject
        replay = Replay(subject, subject.calls[0])
        replay.run()
        replay = Replay(subject, subject.calls[0])
        with ExitStack() as stack:
            stack.enter_context(module_ranges(module_tree(subject.module)))
            session = stack.enter_context(profiler_session(subject.torch_name, shapes=True))
            start = time.perf_counter()
            replay.run()
            seconds = time.perf_counter() - start
        if self._traces.is_worth_it(subject, seconds * subject.calls[0].count):
            path = artefact_path(self._traces.folder, "traces", subject, "json.gz")
            session.export_chrome_trace(str(path))
            self._path = path

    def finding(self) -> Finding:
        folder = self._traces.folder
        if self._path is None or folder is None:
            return Finding()
        return Finding(artefacts={"trace": self._path.relative_to(folder).as_posix()})
