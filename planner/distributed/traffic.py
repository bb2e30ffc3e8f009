"""What the pieces of tables send in an iteration, in bytes per rank and collective.

Forward, pooled embeddings travel from the ranks that look them up to the ranks that own the samples; backward, their
gradients travel back the same way. Messages count as in `network`.

| scheme | forward | backward |
|---|---|---|
| table-wise, column-wise, table-column-wise | all-to-all of B x columns | the same |
| row-wise over all ranks | reduce-scatter of B x columns | all-gather of B x columns |
| row-wise over k of them | all-to-all of k partial sums, each B x columns | the same, copied |
| table-row-wise, grid | reduce-scatter in the node, then all-to-all of 1/L | the same, then all-gather in the node |
| data-parallel | nothing | all-reduce of a dense gradient, rows x columns |

B is the global batch and L the devices of a node.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.distributed.pieces import Pieces

__all__ = ["GRADIENT_BYTES", "Scope", "Traffic", "backward_traffic", "forward_traffic"]

Scope = Literal["cluster", "node"]
# Dense gradients are reduced in float32.
GRADIENT_BYTES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Traffic:
    """Message bytes [N] of each piece's rank in one collective, over the whole cluster or inside the rank's node."""

    collective: Literal["all_gather", "all_reduce", "all_to_all", "reduce_scatter"]
    scope: Scope
    bytes_N: NDArray[np.float64]


def forward_traffic(pieces: Pieces, value_bytes: float) -> tuple[Traffic, ...]:
    """What is sent forward, with `value_bytes` per value of a pooled embedding."""
    return _pooled(pieces, value_bytes, "reduce_scatter")


def backward_traffic(pieces: Pieces, value_bytes: float) -> tuple[Traffic, ...]:
    """What is sent backward, with `value_bytes` per value of a pooled embedding's gradient."""
    dense_N = np.where(_is_copied(pieces), pieces.rows_N * pieces.columns_N * float(GRADIENT_BYTES), 0.0)
    reduced = Traffic(collective="all_reduce", scope="cluster", bytes_N=dense_N)
    return (*_pooled(pieces, value_bytes, "all_gather"), reduced)


def _pooled(
    pieces: Pieces, value_bytes: float, reduced_by: Literal["reduce_scatter", "all_gather"]
) -> tuple[Traffic, ...]:
    pooled_N = pieces.global_batch * pieces.columns_N * value_bytes
    everywhere_N = pieces.has_scheme("row_wise") & (pieces.row_parts_N == pieces.cluster.ranks)
    in_node_N = pieces.has_scheme("table_row_wise", "grid")
    exchanged_N = pooled_N / np.where(in_node_N, pieces.cluster.devices_per_node, 1)
    exchanged_N[everywhere_N | _is_copied(pieces)] = 0.0
    return (
        Traffic(collective="all_to_all", scope="cluster", bytes_N=exchanged_N),
        Traffic(collective=reduced_by, scope="cluster", bytes_N=np.where(everywhere_N, pooled_N, 0.0)),
        Traffic(collective=reduced_by, scope="node", bytes_N=np.where(in_node_N, pooled_N, 0.0)),
    )


def _is_copied(pieces: Pieces) -> NDArray[np.bool_]:
    return pieces.has_scheme("data_parallel")
