"""What the caches have in common: a DHE stack, and results of it that are good for as long as its weights are."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from representations.dhe.embedding import DheEmbedding
from representations.dhe.encoder import runs_compiled

__all__ = ["CachedStack"]


class CachedStack(nn.Module, ABC):
    """ids [B], or the flat ids [N] of bags that begin at offsets [B], -> [B, dim], as the `stack` it wraps.

    A stack is a DHE, or another cache: what the first misses, the second may hold.

    In training mode every id goes through the stack, with gradients. In evaluation mode cached rows are constants, and
    are computed anew before the first use after any weight changed: an optimizer's step, a loaded state.
    Weights that were created in inference mode are taken to be constant, and what is written through `.data` goes
    unseen: call `refresh` after it.
    """

    def __init__(self, stack: "DheEmbedding | CachedStack") -> None:
        super().__init__()
        self.stack = stack
        self._known_versions: list[tuple[int, int]] = []

    @property
    def dim(self) -> int:
        """Floats of an embedding."""
        return self.exact.dim

    @property
    def exact(self) -> DheEmbedding:
        """The DHE at the end, where caches stand one before the other."""
        return self.stack.exact if isinstance(self.stack, CachedStack) else self.stack

    def forward(self, ids_N: Tensor, offsets_B: Tensor | None = None) -> Tensor:
        """Shape [B, dim].

        Raises:
            InputError: ids are no integers, or on the CPU one is beyond the feature's range; names feature and place.
        """
        if self.training:
            trained_BD: Tensor = self.stack(ids_N, offsets_B)
            return trained_BD
        self._refresh_where_stale()
        rows_ND = self.cached_rows(self.exact.encoder.checked(ids_N))
        if offsets_B is None:
            return rows_ND
        pooled_BD: Tensor = self.exact.pool(rows_ND, offsets_B)
        return pooled_BD

    @abstractmethod
    def refresh(self) -> None:
        """Compute anew what is kept; called without gradients."""

    @abstractmethod
    def cached_rows(self, ids_N: Tensor) -> Tensor:
        """The embedding of every id, [N, dim]; the ids are int64 and what is kept is up to date."""

    def nan_outside(self, rows_ND: Tensor, ids_N: Tensor) -> Tensor:
        """The rows, NaN for ids beyond the range where that was not checked, as the DHE's own are."""
        if runs_compiled(ids_N):
            return rows_ND
        return rows_ND.masked_fill(self.exact.encoder.is_outside(ids_N)[:, None], math.nan)

    @torch.no_grad()
    def _refresh_where_stale(self) -> None:
        if self._versions() != self._known_versions:
            self.refresh()
            self._known_versions = self._versions()

    def _versions(self) -> list[tuple[int, int]]:
        """Where every tensor lies and how often it was written to, as autograd counts (not in inference mode)."""
        tensors = (*self.exact.parameters(), *self.exact.buffers(), *self.buffers(recurse=False))
        return [
            (tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version)  # noqa: SLF001 (no public name)
            for tensor in tensors
        ]
