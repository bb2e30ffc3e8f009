"""The extension point through which more is measured of every module."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from profiles.kernel_time import KernelTime
from profiles.walk.subject import Subject

__all__ = ["Figure", "Finding", "OpenProfiler", "Profiler", "ProfilerRun"]

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


class OpenProfiler(Protocol):
    """A profiler at work on one captured model: what its modules have to know of one another is held here.

    An exception in it is a note on the module's row: the other figures, and the children, are measured all the same.
    """

    def start(self, subject: Subject) -> ProfilerRun | None:
        """Called once per module, parents first, before the first visit; None where there is nothing to measure."""
        ...


class Profiler(Protocol):
    """Measures modules alone, on their captured inputs; tested by subclassing `profiles.testing.ProfilerContract`.

    One object may serve many profiles, so that it is not to hold anything of a model. `visits` is how often a module is
    measured; one with `needs_folder` only writes files, and is refused where the profile has no folder.
    """

    name: str
    visits: int
    figures: tuple[Figure, ...]
    needs_folder: bool

    def open(self, folder: Path | None) -> OpenProfiler:
        """Called once per profile, before the first `start`; `folder` is where files go (`ProfileOptions.folder`)."""
        ...
