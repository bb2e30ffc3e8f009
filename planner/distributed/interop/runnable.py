"""Plan only what torchrec runs rightly: other pieces are not offered to the search."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from planner.distributed.pieces import Pieces
from planner.distributed.shard_costs import PieceCosts, RooflineCosts, ShardCosts

__all__ = ["RunnableCosts", "runs_in_torchrec"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunnableCosts:
    """The `inner` costs of the pieces that `export_plan` takes; all others are infinite."""

    inner: ShardCosts = field(default_factory=RooflineCosts)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the prices rest on."""
        return (*self.inner.assumptions, "Only cuts that torchrec runs rightly were considered.")

    def price(self, pieces: Pieces) -> PieceCosts:
        """The cost and memory of each piece."""
        priced = self.inner.price(pieces)
        offered_ms_N = np.where(runs_in_torchrec(pieces), priced.forward_compute_ms_N, np.inf)
        return replace(priced, forward_compute_ms_N=offered_ms_N)


def runs_in_torchrec(pieces: Pieces) -> NDArray[np.bool_]:
    """Which pieces [N] torchrec runs rightly: rows over all ranks or all of a host, columns in fours or whole."""
    by_row = pieces.has_scheme("row_wise") & (pieces.row_parts_N != pieces.cluster.ranks)
    by_host = pieces.has_scheme("table_row_wise", "grid") & (pieces.row_parts_N != pieces.cluster.devices_per_node)
    in_fours = (pieces.columns_N % 4 == 0) | (pieces.columns_N == pieces.arrays.dim[pieces.table_N])
    runs: NDArray[np.bool_] = ~by_row & ~by_host & in_fours
    return runs
