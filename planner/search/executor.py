"""Where trials train: the extension point, and this process as the default."""

from collections import deque
from types import TracebackType
from typing import Protocol, Self

from planner.search.evaluation import Trained, Trainer
from profiles.errors import MeasurementError
from representations.specs import ModelSpec

__all__ = ["InProcessTrials", "TrialExecutor"]


class TrialExecutor(Protocol):
    """Trains candidates somewhere, `slots` at a time. Made from a `Trainer`, entered before the first `submit`."""

    @property
    def slots(self) -> int:
        """How many candidates may be in training at once; asked after `__enter__`."""
        ...

    def submit(self, number: int, spec: ModelSpec, seed: int) -> None:
        """Begin to train `spec` as trial `number`."""
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
        self._submitted: deque[tuple[int, ModelSpec, int]] = deque()

    def submit(self, number: int, spec: ModelSpec, seed: int) -> None:
        """Remember the candidate; `wait` trains it."""
        self._submitted.append((number, spec, seed))

    def wait(self) -> tuple[int, Trained | MeasurementError]:
        """Train the candidate that was submitted first."""
        number, spec, seed = self._submitted.popleft()
        try:
            return number, self._train(spec, seed)
        except MeasurementError as error:
            return number, error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._submitted.clear()
