"""The measuring worker: a plain object that one Ray actor wraps per device."""

from collections.abc import Iterator, Mapping, Sequence

import torch

from profiles.component import Component
from profiles.devices import local_devices
from profiles.fingerprint import current_fingerprint
from profiles.measure import measure_group
from profiles.providers.protocol import ComponentProvider
from profiles.records import ComponentProfile, Fingerprint
from profiles.sweep_options import SweepOptions
from profiles.visits import Visit

__all__ = ["MeasuringWorker"]


class MeasuringWorker:
    """Owns its process: sets torch's thread count for good, since OMP_NUM_THREADS alone may come too late for torch."""

    def __init__(self, device: str, threads: int) -> None:
        torch.set_num_threads(threads)
        self._device = device

    def devices(self) -> tuple[str, ...]:
        """The devices that the worker's process sees, the processor first; equal GPUs once."""
        return tuple(dict.fromkeys(device.name for device in local_devices()))

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the worker's machine, with the thread count that torch really has."""
        return current_fingerprint(self._device, torch.get_num_threads())

    def measure(
        self,
        group: Sequence[Component],
        provider: ComponentProvider,
        options: SweepOptions,
        known: Mapping[str, Sequence[Visit]],
    ) -> Iterator[Visit | ComponentProfile]:
        """The visits and rows of one group, streamed, so that a worker that dies loses the visit at hand."""
        yield from measure_group(group, provider, self._device, options, known)
