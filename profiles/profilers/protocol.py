"""The extension point through which more is measured of every module."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from profiles.kernel_time import KernelTime
from profiles.subject import Subject

__all__ = ["Figure", "Finding", "Profiler", "ProfilerRun"]

# `max` is a lower bound where the children do not run at the same time; `none` is not carried to a parent.
Aggregation = Literal["sum", "max", "none"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A number that a profiler gives: its name with the unit, a title for tables, and how a parent adds it up."""

    name: str
    title: str
    aggregation: Aggregation = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a profiler found of one module.

    Names in `figures` that are fields of `ComponentProfile` (`warm`, `peak_memory_bytes`, ...) fill these, all others
    go to its `figures`. `artefacts` are files by title (`trace`, `memory snapshot`), relative to the profile's folder.
    """

    figures: Mapping[str, Any] = field(default_factory=dict)
    artefacts: Mapping[str, str] = field(default_factory=dict)
    kernels: tuple[KernelTime, ...] = ()
    notes: tuple[str, ...] = ()


class ProfilerRun(Protocol):
    """One profiler at work on one module."""

    def visit(self) -> None:
        """Measure once; called `Profiler.visits` times, with the visits of all other modules in between."""
        ...

    def finding(self) -> Finding:
        """What the visits gave; called once, after the last."""
        ...


class Profiler(Protocol):
    """Measures modules alone, on their captured inputs; tested by subclassing `profiles.testing.ProfilerContract`.

    An exception in it is a note on the module's row: the other figures, and the children, are measured all the same.
    """

    name: str
    visits: int
    figures: tuple[Figure, ...]

    def start(self, subject: Subject) -> ProfilerRun | None:
        """Called once per module, parents first, before the first visit; None where there is nothing to measure."""
        ...
