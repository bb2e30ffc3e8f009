"""What the rest of a model does to the caches between two runs of a component: its activations pass through them."""

from typing import Any

import torch

__all__ = ["ActivationTraffic"]

_BYTES_PER_NUMBER = 4


class ActivationTraffic:
    """Reads and writes `traffic_bytes` in all, half of them each way, when it is called."""

    def __init__(self, traffic_bytes: int) -> None:
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
