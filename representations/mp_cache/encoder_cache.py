"""The static encoder cache: hot ids to their final embeddings; a hit skips the whole stack."""

from typing import Any

import torch
from torch import Tensor

from profiles.errors import InputError
from representations.dhe.embedding import DheEmbedding
from representations.dhe.encoder import runs_compiled
from representations.mp_cache.cached_stack import CachedStack

__all__ = ["EncoderCache"]


class EncoderCache(CachedStack):
    """Exact: a hit is the row that the stack gave for that id, a miss goes through the stack.

    `hot_ids_E` are distinct and ascending (`hottest_ids` gives them); ids and rows are part of the module's state.
    """

    hot_ids_E: Tensor
    rows_ED: Tensor

    def __init__(self, stack: DheEmbedding | CachedStack, hot_ids_E: Tensor) -> None:
        super().__init__(stack)
        if not len(hot_ids_E) or bool((hot_ids_E.diff() <= 0).any()):
            raise InputError(f"encoder cache: hot ids must be distinct and ascending, but got {hot_ids_E.tolist()[:8]}")
        self.register_buffer("hot_ids_E", self.exact.encoder.checked(hot_ids_E).clone())
        self.register_buffer("rows_ED", torch.zeros(len(hot_ids_E), self.dim))
        self._table_S: Any = None

    def refresh(self) -> None:
        """One pass of the stack over the hot ids."""
        from representations.mp_cache.kernels import build_table

        self.rows_ED.copy_(self.exact(self.hot_ids_E))
        self._table_S = build_table(self.hot_ids_E.cpu().numpy())

    def cached_rows(self, ids_N: Tensor) -> Tensor:
        """Rows of hits by a hash table on the CPU, by binary search elsewhere."""
        if runs_compiled(ids_N):
            return self._compiled(ids_N)
        entries_N = torch.searchsorted(self.hot_ids_E, ids_N).clamp_(max=len(self.hot_ids_E) - 1)
        missed_M = (self.hot_ids_E[entries_N] != ids_N).nonzero().squeeze(1)
        return self._with_missed(self.rows_ED[entries_N], ids_N, missed_M)

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"entries={len(self.hot_ids_E)}"

    def _compiled(self, ids_N: Tensor) -> Tensor:
        from representations.mp_cache.kernels import look_up

        rows_ND = torch.empty(len(ids_N), self.dim)
        hot_E, rows_ED = self.hot_ids_E.numpy(), self.rows_ED.numpy()
        missed_M = look_up(ids_N.contiguous().numpy(), hot_E, self._table_S, rows_ED, rows_ND.numpy())
        return self._with_missed(rows_ND, ids_N, torch.from_numpy(missed_M))

    def _with_missed(self, rows_ND: Tensor, ids_N: Tensor, missed_M: Tensor) -> Tensor:
        if not len(missed_M):
            return rows_ND
        return rows_ND.index_copy_(0, missed_M, self.stack(ids_N[missed_M]).detach())
