"""Progress for people: bars on a terminal, plain lines otherwise, always on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TextIO

__all__ = ["LineProgress", "Progress", "QuietProgress", "Stage", "TerminalProgress", "progress_for"]

_SECONDS_BETWEEN_LINES = 5.0


class Stage(Protocol):
    """One step's progress: told how far it is, at any rate."""

    def update(self, done: int, total: int | None = None, note: str = "") -> None:
        """`done` of `total` units are finished; `note` is a few words beside them."""
        ...


class Progress(Protocol):
    """Where steps report to."""

    def stage(self, title: str, total: int | None = None) -> AbstractContextManager[Stage]:
        """Entered when a step begins, left when it ends, also by an error."""
        ...

    def say(self, message: str) -> None:
        """One line for the user."""
        ...


class QuietProgress:
    """Says nothing."""

    def update(self, done: int, total: int | None = None, note: str = "") -> None:
        """Nothing."""

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Stage]:
        """A stage that says nothing."""
        del title, total
        yield self

    def say(self, message: str) -> None:
        """Nothing."""


class _LineStage:
    def __init__(self, title: str, total: int | None, write: Callable[[str], None]) -> None:
        self.title, self.total, self._write = title, total, write
        self._last = time.monotonic()

    def update(self, done: int, total: int | None = None, note: str = "") -> None:
        self.total = total if total is not None else self.total
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            of = f"/{self.total}" if self.total else ""
            self._write(f"{self.title}: {done}{of}{f', {note}' if note else ''}")


class LineProgress:
    """A line when a step begins and ends, and one every five seconds between: for logs and CI."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Stage]:
        """Lines for one step."""
        start = time.monotonic()
        self.say(f"{title} ...")
        yield _LineStage(title, total, self.say)
        self.say(f"{title}: done in {time.monotonic() - start:.1f} s")

    def say(self, message: str) -> None:
        """One line, flushed."""
        print(message, file=self._stream, flush=True)


class TerminalProgress:
    """Bars by rich."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)

    @contextmanager
    def stage(self, title: str, total: int | None = None) -> Iterator[Stage]:
        """A bar for one step; a line with its time stays when it ends."""
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
        from rich.text import Text

        class Count(MofNCompleteColumn):
            def render(self, task: Task) -> Text:
                return Text() if task.total is None else super().render(task)

        start = time.monotonic()
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            Count(),
            TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[note]}"),
        )
        with Bars(*columns, console=self._console, transient=True) as bars:
            task = bars.add_task(escape(title), total=total, note="")

            class BarStage:
                def update(self, done: int, total: int | None = None, note: str = "") -> None:
                    bars.update(task, completed=done, total=total, note=escape(note))

            yield BarStage()
        self._console.print(f"[green]✓[/] {escape(title)} [dim]{time.monotonic() - start:.1f} s")

    def say(self, message: str) -> None:
        """One line."""
        self._console.print(message, markup=False, highlight=False)


def progress_for(stream: TextIO | None = None) -> Progress:
    """Bars where stderr is a terminal, plain lines otherwise."""
    stream = stream if stream is not None else sys.stderr
    return TerminalProgress() if stream.isatty() else LineProgress(stream)
