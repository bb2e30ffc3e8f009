"""Measure in this process: the embedded default."""

from collections.abc import Iterator, Sequence

from profiles.component import Component
from profiles.fingerprint import current_fingerprint
from profiles.measure import measure_group, thread_count
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile, Fingerprint
from profiles.sweep_options import SweepOptions

__all__ = ["InProcessExecutor"]


class InProcessExecutor:
    """Measures one group after another here; torch's thread count is put back afterwards."""

    def fingerprint(self, device: str, threads: int) -> Fingerprint:
        """The fingerprint of a measurement made here."""
        return current_fingerprint(device, threads)

    def measure(
        self,
        groups: Sequence[tuple[Component, ...]],
        provider: ComponentProvider,
        device: str,
        options: SweepOptions,
    ) -> Iterator[ComponentProfile]:
        """Rows in the order in which their last visits end."""
        for group in groups:
            with thread_count(options.threads):
                yield from measure_group(group, provider, device, options)
