"""The extension point for where measurements run."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from profiles.component import Component
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile, Fingerprint
from profiles.sweep_options import SweepOptions
from profiles.visits import VisitLog

__all__ = ["Executor"]


class Executor(Protocol):
    """Runs `profiles.measure.measure_group` somewhere; one component at a time per device."""

    def devices(self) -> tuple[str, ...]:
        """The devices that it can measure, by the names that rows carry."""
        ...

    def fingerprint(self, device: str, threads: int) -> Fingerprint:
        """What rows measured on that device will carry; called once, before `measure`."""
        ...

    def measure(
        self,
        groups: Sequence[tuple[Component, ...]],
        provider: ComponentProvider,
        device: str,
        options: SweepOptions,
        visits: VisitLog | None = None,
    ) -> Iterator[ComponentProfile]:
        """A row for every component of every group, as soon as it is there.

        The caller writes each row before it asks for the next. Every visit is added to the log as soon as it is made;
        those that are in it are not made again. A row may come twice.
        """
        ...
