"""What a query's ids cost on their way to a device: packed on the host, then copied.

A forward pass of `HostCopy` is one such trip. On a machine whose device is its processor the copy goes into a buffer
that was allocated before, as a driver's would into one that is pinned: packing and a copy in memory are then measured,
no link.
"""

from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from profiles.component import Component
from profiles.errors import InputError, UnknownNameError

__all__ = ["LAYOUTS", "HostCopy", "Layout", "build_host_copy"]

# One tensor of all lengths and ids, or two per table.
Layout = Literal["combined", "per_table"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
_WIDEST_ID = 2**24


class HostCopy(nn.Module):
    """Lengths [B] and ids [N] of every table, on the host -> the same on the device that the module was moved to.

    `combined` writes all lengths and then all ids into one staging buffer, which is copied at once (Mudigere et al.,
    arXiv 2104.05158, where this replaced some thousand input tensors); `per_table` stages and copies each tensor by
    itself. Staging buffers are pinned where the device is a GPU.
    """

    anchor: Tensor

    def __init__(self, lengths: list[Tensor], ids: list[Tensor], layout: Layout) -> None:
        super().__init__()
        # Outside torch's registry, so that they stay on the host.
        self._sources = (tuple(lengths), tuple(ids))
        self._layout = layout
        self._staging: list[tuple[Tensor, Tensor]] = []
        self.register_buffer("anchor", torch.empty(0), persistent=False)

    def forward(self) -> list[Tensor]:
        """The copies on the device: one tensor, or two per table, lengths first."""
        parts = self._parts()
        if not self._staging:
            self._staging = [self._allocated(sum(map(len, part))) for part in parts]
        copies = []
        for part, (staged, copied) in zip(parts, self._staging, strict=True):
            torch.cat(part, out=staged)
            copies.append(copied.copy_(staged, non_blocking=True))
        return copies

    def _parts(self) -> list[tuple[Tensor, ...]]:
        lengths, ids = self._sources
        if self._layout == "combined":
            return [(*lengths, *ids)]
        return [(tensor,) for pair in zip(lengths, ids, strict=True) for tensor in pair]

    def _allocated(self, count: int) -> tuple[Tensor, Tensor]:
        device = self.anchor.device
        staged = torch.empty(count, dtype=torch.int64, pin_memory=device.type == "cuda")
        return staged, torch.empty(count, dtype=torch.int64, device=device)


def build_host_copy(component: Component, rng: np.random.Generator) -> HostCopy:
    """The trip of a `host_to_device` component: `tables` times `batch` lengths and `ids_per_table` ids.

    Raises:
        UnknownNameError: another layout.
        InputError: fewer than one table or id.
    """
    tables, count, layout = int(component["tables"]), int(component["ids_per_table"]), str(component["layout"])
    if layout not in LAYOUTS:
        raise UnknownNameError("host_to_device layout", layout, LAYOUTS)
    if min(tables, count) < 1:
        raise InputError(f"component 'host_to_device': must have tables and ids, but got {tables} and {count}")
    lengths = [torch.from_numpy(rng.multinomial(count, [1 / component.batch] * component.batch)) for _ in range(tables)]
    ids = [torch.from_numpy(rng.integers(0, _WIDEST_ID, count)) for _ in range(tables)]
    return HostCopy(lengths, ids, "combined" if layout == "combined" else "per_table")
