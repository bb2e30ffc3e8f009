"""Small preprocessors and profilers that tests put into a profile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from torch import nn

from profiles.preprocessors.protocol import Stage
from profiles.profilers.protocol import Figure, Finding, ProfilerRun
from profiles.providers.target import Target
from profiles.walk.subject import Subject


@dataclass(kw_only=True)
class Counting:
    """A profiler that counts its visits, or raises where it is told to; `log` tells what was called."""

    name: str = "counting"
    visits: int = 1
    raises_at: str = ""
    needs_folder: bool = False
    folders: list[Path | None] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    figures: tuple[Figure, ...] = (Figure(name="visits_made", title="Visits", aggregation="sum"),)

    def open(self, folder: Path | None) -> "Counting":
        self.folders.append(folder)
        return self

    def start(self, subject: Subject) -> ProfilerRun | None:
        self.tell("start", subject)
        return None if isinstance(subject.module, nn.ReLU) else CountingRun(self, subject)

    def tell(self, step: str, subject: Subject) -> None:
        self.log.append(f"{step} {subject.path}")
        if self.raises_at == step:
            raise RuntimeError(f"no {step}")


@dataclass
class CountingRun:
    profiler: Counting
    subject: Subject
    visits: int = 0

    def visit(self) -> None:
        self.profiler.tell("visit", self.subject)
        self.visits += 1

    def finding(self) -> Finding:
        self.profiler.tell("finding", self.subject)
        figures = {"visits_made": float(self.visits), "peak_memory_bytes": 7}
        return Finding(figures=figures, artefacts={"trace": "trace.json"}, notes=("seen",))


@dataclass(kw_only=True)
class Doubling:
    """A preprocessor that doubles the first argument of the model, and may refuse modules of a class."""

    name: str = "doubling"
    refused: type[nn.Module] | None = None
    entered: int = 0
    stage: Stage = "change"
    figures: tuple[Figure, ...] = ()

    def prepare_target(self, target: Target) -> Target:
        batches = tuple(replace(batch, args=(2 * batch.args[0], *batch.args[1:])) for batch in target.batches)
        return replace(target, batches=batches)

    def prepare_subject(self, subject: Subject) -> Subject:
        if self.refused and isinstance(subject.module, self.refused):
            raise RuntimeError("refused")
        return subject

    @contextmanager
    def context(self) -> Iterator[None]:
        self.entered += 1
        yield
