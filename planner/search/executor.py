"""Where trials train: the extension point, and this process as the default."""

from collections import deque
from types import TracebackType
from typing import Protocol, Self

from planner.search.evaluation import RungStep, Trained, Trainer, train_step
from profiles.errors import MeasurementError
from representations.specs import ModelSpec

__all__ = ["InProcessTrials", "TrialExecutor"]


class TrialExecutor(Protocol):
    """Trains candidates somewhere, `slots` at a time. Made from a `Trainer`, entered before the first `submit`."""

    @property
    def slots(self) -> int:
        """How many candidates may be in training at once; asked after `__enter__`."""
        ...

    def submit(self, number: int, spec: ModelSpec, seed: int, step: RungStep | None = None) -> None:
        """Begin to train `spec` as trial `number`, or one step of it."""
        ...

    def wait(self) -> tuple[int, Trained | MeasurementError]:
        """The next trial to end, in any order; called only while one is in training.

        The trainer's `MeasurementError` says that this candidate cannot be trained and is handed on; any other error
        is raised and ends the search.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class InProcessTrials:
    """Trains in this process, one candidate after the other."""

    slots = 1

    def __init__(self, train: Trainer) -> None:
        self._train = train
        self._submitted: deque[tuple[int, ModelSpec, int, RungStep | None]] = deque()

    def submit(self, number: int, spec: ModelSpec, seed: int, step: RungStep | None = None) -> None:
        """Remember the candidate; `wait` trains it."""
        self._submitted.append((number, spec, seed, step))

    def wait(self) -> tuple[int, Trained | MeasurementError]:
        """Train the candidate that was submitted first."""
        number, spec, seed, step = self._submitted.popleft()
        try:
            return number, train_step(self._train, spec, seed, step)
        except MeasurementError as error:
            return number, error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._submitted.clear()
