"""What it takes to bring ids to the ranks that hold their rows, in bytes.

Each rank starts with its own samples' ids. *Permute* (table-wise) sends a table's ids and lengths to its one rank;
*bucketize* (row-wise) sends each id to the rank of its rows, and lengths to all of them; *replicate* (column-wise)
sends all ids and lengths to every rank that has columns. Table-column-wise sends each id to the node once and
replicates it inside. Data-parallel tables need nothing.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from planner.distributed.pieces import Pieces

__all__ = ["ID_BYTES", "LENGTH_BYTES", "OPERATIONS", "InputTraffic", "input_traffic"]

ID_BYTES = 8
LENGTH_BYTES = 4
InputOperation = Literal["none", "permute", "bucketize", "replicate", "replicate_and_bucketize"]
OPERATIONS: dict[str, InputOperation] = {
    "table_wise": "permute",
    "row_wise": "bucketize",
    "column_wise": "replicate",
    "data_parallel": "none",
    "table_row_wise": "bucketize",
    "table_column_wise": "replicate",
    "grid": "replicate_and_bucketize",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class InputTraffic:
    """Bytes of ids and lengths that each piece [N] receives: by the all-to-all of all ranks, and inside its node."""

    all_to_all_bytes_N: NDArray[np.float64]
    intra_bytes_N: NDArray[np.float64]

    @property
    def total_bytes(self) -> NDArray[np.float64]:
        """All of it [N]."""
        return self.all_to_all_bytes_N + self.intra_bytes_N


def input_traffic(pieces: Pieces) -> InputTraffic:
    """What each piece receives per iteration; ids fall on rows evenly.

    A message counts what stays on its own rank too, as collectives do.
    """
    samples = pieces.global_batch
    ids_N = samples * pieces.pooling * pieces.row_share
    received_N = ids_N * ID_BYTES + float(samples * LENGTH_BYTES)
    received_N[pieces.has_scheme("data_parallel")] = 0.0
    in_node_N = pieces.has_scheme("table_column_wise")
    return InputTraffic(
        all_to_all_bytes_N=np.where(in_node_N, received_N / pieces.column_parts_N, received_N),
        intra_bytes_N=np.where(in_node_N, received_N, 0.0),
    )
