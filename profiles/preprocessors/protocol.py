"""The extension point through which a model, or a module about to be profiled alone, is changed beforehand."""

from contextlib import AbstractContextManager
from typing import Protocol

from profiles.profilers.protocol import Figure
from profiles.providers.target import Target
from profiles.subject import Subject

__all__ = ["Preprocessor"]


class Preprocessor(Protocol):
    """Applied in the order given; tested by subclassing `profiles.testing.PreprocessorContract`.

    `name` is what the rows carry, options included: `autocast(bfloat16)`; `figures` are those that it puts into its
    subjects' `figures`, but for the fields of a row. The user's own model and inputs are left as they were: what has to
    change them works on copies, or takes the change back.
    """

    name: str
    figures: tuple[Figure, ...]

    def prepare_target(self, target: Target) -> Target:
        """The model and batches that are captured; called once."""
        ...

    def prepare_subject(self, subject: Subject) -> Subject:
        """The module and calls that are run alone; called once per module, parents first."""
        ...

    def context(self) -> AbstractContextManager[object]:
        """Entered around every pass of the model and every call of a module."""
        ...
