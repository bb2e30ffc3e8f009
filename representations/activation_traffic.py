"""What the rest of a model does between two runs of a component: its activations pass through the caches.

Where a pass frees more memory than the allocator keeps, the next one gets fresh pages, each of which costs a fault when
it is first written. A component alone mostly finds the pages that it had before.
"""

import ctypes
from typing import Any

import torch

__all__ = ["ActivationTraffic"]

_BYTES_PER_NUMBER = 4


class ActivationTraffic:
    """Reads and writes `traffic_bytes` in all, half of them each way, when it is called.

    With `gives_back`, free memory goes back to the system as well, where the C library can be told to (glibc).
    """

    def __init__(self, traffic_bytes: int, *, gives_back: bool = False) -> None:
        self.gives_back = gives_back
        self._buffer_N = torch.zeros(max(1, traffic_bytes // (2 * _BYTES_PER_NUMBER)))

    @property
    def traffic_bytes(self) -> int:
        """Bytes read and written by a call."""
        return 2 * self._buffer_N.numel() * self._buffer_N.element_size()

    def to(self, device: Any) -> "ActivationTraffic":
        """On another device."""
        self._buffer_N = self._buffer_N.to(device)
        return self

    def __call__(self) -> None:
        """Pass once."""
        self._buffer_N.add_(1)
        if self.gives_back:
            _give_back()


def _give_back() -> None:
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        # Another C library, or none that is loaded by name: it keeps what it keeps.
        return
