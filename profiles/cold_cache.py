"""Sweep the caches, so that the next call finds its data in memory only."""

from pathlib import Path

import torch

__all__ = ["CacheSweeper", "last_level_cache_bytes"]

_CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
_FALLBACK_BYTES = 32 * 2**20
_LEAST_BYTES, _MOST_BYTES = 2**20, 512 * 2**20
# An L2 of 50 MB (H100, H200) is the largest of the catalogue's GPUs.
_CUDA_BYTES = 256 * 2**20


class CacheSweeper:
    """Reads and writes a buffer twice the last-level cache; call it before each cold sample."""

    def __init__(self, torch_name: str = "cpu") -> None:
        is_cuda = torch_name.startswith("cuda")
        wanted = _CUDA_BYTES if is_cuda else min(max(2 * last_level_cache_bytes(), _LEAST_BYTES), _MOST_BYTES)
        self._buffer_N = torch.zeros(wanted // 4, dtype=torch.int32, device=torch_name)

    @property
    def buffer_bytes(self) -> int:
        """Bytes that one sweep touches."""
        return self._buffer_N.numel() * self._buffer_N.element_size()

    def __call__(self) -> None:
        """Sweep once."""
        self._buffer_N.add_(1)


def last_level_cache_bytes(caches: Path = _CPU_CACHES) -> int:
    """Size of the processor's largest cache as the kernel tells it, else 32 MiB."""
    sizes = []
    for path in caches.glob("index*/size"):
        text = path.read_text(encoding="utf-8").strip()
        if text[:-1].isdigit() and text[-1] in _UNITS:
            sizes.append(int(text[:-1]) * _UNITS[text[-1]])
    return max(sizes, default=_FALLBACK_BYTES)
