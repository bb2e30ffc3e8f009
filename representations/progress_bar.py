"""A bar of a training's steps on the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from representations.training_config import TrainingProgress

__all__ = ["training_bar"]


@contextmanager
def training_bar(name: str, file: TextIO | None = None) -> Iterator[Callable[[TrainingProgress], None]]:
    """A callback for `train` that draws steps, time left, loss and samples/s on `file` (standard error)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[figures]}"), console=Console(file=file or sys.stderr)) as bar:
        task = bar.add_task(name, total=None, figures="")

        def tell(progress: TrainingProgress) -> None:
            figures = f"epoch {progress.epoch}, loss {progress.loss:.4f}, {progress.samples_per_s:,.0f} samples/s"
            bar.update(task, total=progress.steps, completed=progress.step, figures=figures)

        yield tell
