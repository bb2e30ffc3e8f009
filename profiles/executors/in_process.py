"""Measure in this process: the embedded default."""

from collections.abc import Iterator, Sequence

from profiles.component import Component
from profiles.devices import local_devices
from profiles.fingerprint import current_fingerprint
from profiles.measure import measure_group, thread_count
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile, Fingerprint
from profiles.sweep_options import SweepOptions
from profiles.visits import VisitLog, rows_of

__all__ = ["InProcessExecutor"]


class InProcessExecutor:
    """Measures one group after another here; torch's thread count is put back afterwards."""

    def devices(self) -> tuple[str, ...]:
        """The devices of this machine, the processor first; equal GPUs once."""
        return tuple(dict.fromkeys(device.name for device in local_devices()))

    def fingerprint(self, device: str, threads: int) -> Fingerprint:
        """The fingerprint of a measurement made here."""
        return current_fingerprint(device, threads)

    def measure(
        self,
        groups: Sequence[tuple[Component, ...]],
        provider: ComponentProvider,
        device: str,
        options: SweepOptions,
        visits: VisitLog | None = None,
    ) -> Iterator[ComponentProfile]:
        """Rows in the order in which their last visits end."""
        log = visits or VisitLog()
        key = self.fingerprint(device, options.threads).device_key()
        for group in groups:
            known = log.of(component.content_hash(key) for component in group)
            with thread_count(options.threads):
                yield from rows_of(measure_group(group, provider, device, options, known), log)
