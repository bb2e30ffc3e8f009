"""The extension point through which a model, or a module about to be profiled alone, is changed beforehand."""

from contextlib import AbstractContextManager
from typing import Literal, Protocol

from profiles.profilers.protocol import Figure
from profiles.providers.target import Target
from profiles.walk.subject import Subject

__all__ = ["Preprocessor", "Stage"]

# What compiles comes after all changes, whatever the order given: it compiles what these leave.
Stage = Literal["change", "compile"]


class Preprocessor(Protocol):
    """Applied in the order given within each stage; tested by subclassing `profiles.testing.PreprocessorContract`.

    `name` is what the rows carry, options included: `autocast(bfloat16)`; `figures` are those that it puts into its
    subjects' `figures`, but for the fields of a row; `stage` is `compile` for what is to come after all others. The
    user's own model and inputs are left as they were: what has to change them works on copies, or takes it back.
    """

    name: str
    figures: tuple[Figure, ...]
    stage: Stage

    def prepare_target(self, target: Target) -> Target:
        """The model and batches that are captured; called once."""
        ...

    def prepare_subject(self, subject: Subject) -> Subject:
        """The module and calls that are run alone; called once per module, parents first."""
        ...

    def context(self) -> AbstractContextManager[object]:
        """Entered around every pass of the model and every call of a module."""
        ...
