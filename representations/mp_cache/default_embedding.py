"""One embedding for every id: what stands behind an encoder cache where cold ids are to cost nothing."""

import numpy as np
import torch
from torch import Tensor

from profiles.errors import InputError
from representations.dhe.embedding import DheEmbedding
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.policies import Ids, check_log

__all__ = ["DefaultEmbedding", "cold_sample"]


class DefaultEmbedding(CachedStack):
    """Every id has the mean of the embeddings of `sample_ids_S`, so that neither encoder nor decoder run.

    Not exact. Behind an `EncoderCache` hot ids keep their own; the default is that of the ids that are not.
    """

    sample_ids_S: Tensor
    row_D: Tensor

    def __init__(self, stack: DheEmbedding, sample_ids_S: Tensor) -> None:
        super().__init__(stack)
        if not len(sample_ids_S):
            raise InputError("default embedding: needs at least one id to take the mean of")
        self.register_buffer("sample_ids_S", stack.encoder.checked(sample_ids_S).clone())
        self.register_buffer("row_D", torch.zeros(self.dim))

    def refresh(self) -> None:
        """One pass of the stack over the sample."""
        self.row_D.copy_(self.exact(self.sample_ids_S).mean(dim=0))

    def cached_rows(self, ids_N: Tensor) -> Tensor:
        """The same row, so many times."""
        return self.nan_outside(self.row_D.expand(len(ids_N), -1), ids_N)

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"sample={len(self.sample_ids_S)}"


def cold_sample(log_N: Ids, hot_E: Ids, count: int, seed: int = 0) -> Tensor:
    """`count` accesses of a log to ids that are not hot, at random [count]; of all its ids where every one is hot.

    Raises:
        InputError: the log is empty, or holds no integers.
    """
    check_log(log_N)
    cold_N = log_N[~np.isin(log_N, hot_E)]
    drawn = np.random.default_rng(seed).choice(cold_N if len(cold_N) else log_N, count)
    return torch.from_numpy(drawn.astype(np.int64))
