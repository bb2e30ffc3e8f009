"""What torchrec's planner takes a shard to cost, as arithmetic on arrays: the formulas of torchrec 1.8.0's estimators.

For b samples per rank, P ranks of which L share a host, and pooling p, a rank looks up i = b p ids of its own samples
and gets o = b min(1, p) vectors. With e bytes per value, c columns and G = 1 (whole rows), P (row-wise) or L
(table-row-wise, grid):

    compute   (8 i P / G + i P c e / G + o P c e) * penalty / memory bandwidth, and twice that backward
    messages  o P c e / bandwidth: all-to-all; or reduce-scatter, and backward all-gather and a copy at 2.455 / memory
    grid      the latter in the host, and an all-to-all of o (P / L) c e between hosts

The penalty is 1.15 below 128 columns and 1.75 below 64, and look-ups move 32 columns at least, both where rows are not
split. Input distribution is not part of torchrec's total.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.distributed.cluster import Cluster
from planner.distributed.interop.runnable import runs_in_torchrec
from planner.distributed.interop.topology import Constants, TorchrecFigures, torchrec_figures
from planner.distributed.pieces import Pieces
from planner.distributed.shard_costs import PieceCosts
from profiles.errors import InputError

__all__ = ["TorchrecCosts"]

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
_ID_BYTES = 8
_BACKWARD = 2.0
_COPY = 2.455
_DENSE_UPDATE = 9.22
# Optimizer state over weights, as torchrec counts it; row-wise state is over the table's width.
_STATE: Mapping[str, float] = {"sgd": 0.0, "adam": 2.0, "adagrad": 1.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchrecCosts:
    """`ShardCosts` in torchrec's milliseconds and bytes, with the cluster's figures or torchrec's own.

    Offers only pieces that torchrec runs rightly: rows over all ranks or over one host's, columns in fours, tables in
    the device's memory (`fused`) or, without a cache, in the host's (`fused_uvm`).
    """

    constants: Constants = "cluster"

    def __post_init__(self) -> None:
        if self.constants not in ("cluster", "torchrec"):
            raise InputError(f"constants: must be 'cluster' or 'torchrec', but got {self.constants!r}")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the prices rest on."""
        whose = "torchrec's own constants (a V100's)" if self.constants == "torchrec" else "the cluster's figures"
        return (f"Shard costs are torchrec's formulas with {whose}; input distribution is not in them.",)

    def price(self, pieces: Pieces) -> PieceCosts:
        """The cost and memory of each piece."""
        return _Pricing(pieces, torchrec_figures(pieces.cluster, self.constants)).costs()


class _Pricing:
    def __init__(self, pieces: Pieces, figures: TorchrecFigures) -> None:
        self.pieces, self.figures = pieces, figures
        batch, ranks = pieces.batch_per_rank, figures.ranks
        self.copied = pieces.has_scheme("data_parallel")
        self.by_row = pieces.has_scheme("row_wise")
        self.by_host = pieces.has_scheme("table_row_wise", "grid")
        self.whole = ~(self.copied | self.by_row | self.by_host)
        self.sharers = np.where(self.by_row, ranks, np.where(self.by_host, figures.devices_per_node, 1))
        self.value_bytes = pieces.arrays.value_bytes[pieces.table_N]
        self.samplers = np.where(self.copied, 1, ranks)
        self.ids = batch * pieces.pooling
        self.vectors = batch * np.minimum(1.0, pieces.pooling)
        self.pooled_bytes = self.vectors * self.samplers * pieces.columns_N * self.value_bytes
        self.input_bytes = np.ceil(self.ids / self.sharers * self.samplers * _ID_BYTES)

    def costs(self) -> PieceCosts:
        forward_ms = self._forward_ms()
        sent_ms, returned_ms = self._messages_ms()
        forward_ms[~self._is_offered()] = np.inf
        return PieceCosts(
            forward_compute_ms_N=forward_ms,
            backward_compute_ms_N=_BACKWARD * forward_ms,
            forward_comm_ms_N=sent_ms,
            backward_comm_ms_N=returned_ms,
            input_ms_N=np.zeros(len(self.pieces)),
            input_bytes_N=np.where(self.copied, 0.0, self.input_bytes),
            tier_bytes_NT=self._tier_bytes(),
        )

    def _forward_ms(self) -> Floats:
        columns = self.pieces.columns_N
        looked_up = np.where(self.whole, np.maximum(columns, 32), columns)
        read = self.ids / self.sharers * self.samplers * looked_up * self.value_bytes
        narrow = np.where(columns < 64, 1.75, np.where(columns < 128, 1.15, 1.0))
        penalty = np.where(self.whole, narrow, 1.0)
        total: Floats = (self.input_bytes + read + self.pooled_bytes) * penalty / self._memory_rate()
        return total

    def _messages_ms(self) -> tuple[Floats, Floats]:
        figures, memory = self.figures, self._memory_rate()
        over_all = (
            figures.intra_bytes_per_ms if figures.ranks <= figures.devices_per_node else figures.inter_bytes_per_ms
        )
        hosts = max(1, figures.ranks // figures.devices_per_node)
        first_ms = self.pooled_bytes / np.where(self.by_host, figures.intra_bytes_per_ms, over_all)
        between_bytes = self.vectors * hosts * self.pieces.columns_N * self.value_bytes if hosts > 1 else 0.0
        between_ms = np.where(self.by_host, between_bytes / figures.inter_bytes_per_ms, 0.0)
        copied_back_ms = np.where(self.by_row | self.by_host, self.pooled_bytes * _COPY / memory, 0.0)
        sent_ms = np.where(self.copied, 0.0, first_ms + between_ms)
        returned_ms = np.where(self.copied, self._dense_ms(memory), sent_ms + copied_back_ms)
        return sent_ms, returned_ms

    def _dense_ms(self, memory: Floats) -> Floats:
        """An all-reduce of a copied table's gradient, and its update."""
        figures = self.figures
        table_bytes = self.pieces.rows_N * self.pieces.columns_N * self.value_bytes
        hosts = min(figures.ranks / figures.devices_per_node, 2)
        reduce_ms = table_bytes * (2 * hosts - 1) / hosts / (figures.inter_bytes_per_ms * figures.devices_per_node)
        if figures.ranks > 2 * figures.devices_per_node:
            reduce_ms = reduce_ms * 2
        total: Floats = reduce_ms + table_bytes * _DENSE_UPDATE / memory
        return total

    def _memory_rate(self) -> Floats:
        """Bytes per millisecond: `dense` kernels reach half, tables in host memory a tenth of the host link."""
        fast = np.where(self.copied, 0.5, 1.0) * self.figures.hbm_bytes_per_ms
        return np.where(self.pieces.tier_N == 0, fast, self.figures.host_to_device_bytes_per_ms / 10)

    def _is_offered(self) -> Truths:
        shared = _shared_tier(self.pieces.cluster)
        in_host_memory = ~self.copied & (self.pieces.tier_N == (-1 if shared is None else shared))
        offered: Truths = runs_in_torchrec(self.pieces) & ((self.pieces.tier_N == 0) | in_host_memory)
        return offered

    def _tier_bytes(self) -> Floats:
        """Weights and optimizer state where the table lies, one batch of input and output on the device."""
        pieces = self.pieces
        weights = pieces.rows_N * pieces.columns_N * self.value_bytes
        over_weights = np.array([_STATE.get(table.optimizer, 1.0 / table.dim) for table in pieces.tables])
        held = weights + np.ceil(weights * over_weights[pieces.table_N])
        bytes_NT = np.zeros((len(pieces), len(pieces.cluster.tiers)))
        bytes_NT[np.arange(len(pieces)), pieces.tier_N] = held
        bytes_NT[:, 0] += self.input_bytes + np.ceil(self.pooled_bytes)
        return bytes_NT


def _shared_tier(cluster: Cluster) -> int | None:
    """The first behind the device's own that a host's devices share."""
    return next((index for index, tier in enumerate(cluster.tiers) if index and tier.per_host), None)
