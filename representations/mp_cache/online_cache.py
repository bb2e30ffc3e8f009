"""Encoder caches that learn what is hot while they serve: least recently, least frequently used."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from representations.dhe.embedding import DheEmbedding
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.policies import OnlinePolicy, check_entries, check_online_policy

__all__ = ["OnlineCache"]


class OnlineCache(CachedStack):
    """Exact, as a hit is a row that the stack gave; every miss is admitted in the place of another id.

    Begins empty, and again after weights changed; contents are no part of the module's state. Which ids are in it is
    kept on the host: ids on a GPU are copied there. A call that raises makes it forget everything.
    """

    rows_ED: Tensor

    def __init__(self, stack: DheEmbedding | CachedStack, entries: int, policy: OnlinePolicy = "lru") -> None:
        super().__init__(stack)
        check_entries(entries)
        check_online_policy(policy)
        self.entries, self.policy = entries, policy
        self.register_buffer("rows_ED", torch.zeros(entries, self.dim), persistent=False)
        self._state: Any = None

    def refresh(self) -> None:
        """Forget everything."""
        from representations.mp_cache.kernels import new_state

        self._state = new_state(self.entries)

    @torch.no_grad()
    def cached_rows(self, ids_N: Tensor) -> Tensor:
        """Rows in the order of access; within a batch, an id that missed before is a hit."""
        try:
            return self._admitted_rows(ids_N)
        except BaseException:
            # Ids were admitted, but their rows may not be there.
            self.refresh()
            raise

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"entries={self.entries}, policy={self.policy!r}"

    def _admitted_rows(self, ids_N: Tensor) -> Tensor:
        from representations.mp_cache.kernels import LFU, LRU, admit

        number = LFU if self.policy == "lfu" else LRU
        source_N, missed_M, taken_M = (
            torch.from_numpy(part).to(ids_N.device) for part in admit(ids_N.cpu().numpy(), number, self._state)
        )
        if not len(missed_M):
            return functional.embedding(source_N, self.rows_ED)
        computed_MD: Tensor = self.stack(missed_M)
        is_hit_N1 = (source_N < self.entries)[:, None]
        kept_ND = functional.embedding(source_N.clamp(max=self.entries - 1), self.rows_ED)
        new_ND = functional.embedding((source_N - self.entries).clamp_(min=0), computed_MD)
        self._keep(taken_M, computed_MD)
        return torch.where(is_hit_N1, kept_ND, new_ND)

    def _keep(self, taken_M: Tensor, computed_MD: Tensor) -> None:
        """Each entry's row becomes that of the last miss that took it."""
        last_E = torch.full((self.entries,), -1, device=taken_M.device)
        last_E.scatter_reduce_(0, taken_M, torch.arange(len(taken_M), device=taken_M.device), "amax")
        written = (last_E >= 0).nonzero().squeeze(1)
        self.rows_ED.data[written] = computed_MD[last_E[written]]
