"""`[sharding]`: the tables to train over a cluster, the dense part beside them, and what else to try."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from planner.distributed.constraints import TableConstraint
from planner.distributed.iteration.training_job import CollectiveDtype, DenseOptimizer
from planner.distributed.tables import TableDtype, TableOptimizer
from profiles.edge import STRICT
from profiles.errors import InputError

__all__ = ["DenseSection", "ShardingSection"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DenseSection:
    """The layers beside the tables: by their widths, or by published totals where only those are known.

    Widths: `bottom_mlp` over `dense_features`, an `interaction`, `top_mlp`. Totals: `mflops_per_sample` of a forward
    pass in `layers` layers, half of them in the bottom and half in the top, with a parameter for each 2 FLOPs.
    """

    __pydantic_config__: ClassVar = STRICT
    dense_features: int = 0
    bottom_mlp: tuple[int, ...] = ()
    interaction: Literal["dot", "concat"] = "dot"
    top_mlp: tuple[int, ...] = ()
    mflops_per_sample: float | None = None
    layers: int = 2

    def __post_init__(self) -> None:
        for name in ("bottom_mlp", "top_mlp"):
            widths = getattr(self, name)
            if widths and min(widths) < 1:
                raise InputError(f"{name}: must be layer widths >= 1, but got {list(widths)}")
        if self.dense_features < 0:
            raise InputError(f"dense_features: must be >= 0, but got {self.dense_features}")
        if bool(self.bottom_mlp) != bool(self.dense_features):
            raise InputError("bottom_mlp: goes with dense_features, so that both or neither must be given")
        if self.layers < 2:
            raise InputError(f"layers: must be >= 2, but got {self.layers}")
        if self.mflops_per_sample is not None:
            if not 0 <= self.mflops_per_sample < math.inf:
                raise InputError(f"mflops_per_sample: must be finite and >= 0, but got {self.mflops_per_sample}")
            if self.bottom_mlp or self.top_mlp:
                raise InputError("mflops_per_sample: stands for bottom_mlp and top_mlp, which may not be given too")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardingSection:
    """Which tables, for how many samples per rank, in which precisions, under which constraints.

    `tables` is a CSV file relative to the study (name, rows, dim, and where known pooling, dtype, optimizer, zipf) or a
    set of the package (`mlperf`, `500`, `1000`, `2000`). Left out, they are those of the study's features, with `dim`
    (the widest of the search space by default), `dtype` and `optimizer`, and the skew of the study's ids.
    `dense_optimizer` "none" leaves its step out. `transfers` run beside one another, each with the bandwidth that it
    was measured with alone, or in turn, as those of one communicator do. `what_if` are changes as
    `recplan shard --what-if` takes them.
    """

    __pydantic_config__: ClassVar = STRICT
    tables: str | None = None
    batch_per_rank: int = 512
    dim: int | None = None
    dtype: TableDtype = "float32"
    optimizer: TableOptimizer = "rowwise_adagrad"
    compute_dtype: str | None = None
    forward_dtype: CollectiveDtype = "float32"
    backward_dtype: CollectiveDtype = "float32"
    dense_optimizer: DenseOptimizer | Literal["none"] = "sgd"
    transfers: Literal["beside", "in_turn"] = "beside"
    dense: DenseSection = field(default_factory=DenseSection)
    constraints: tuple[TableConstraint, ...] = ()
    what_if: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.batch_per_rank < 1:
            raise InputError(f"batch_per_rank: must be >= 1, but got {self.batch_per_rank}")
        if self.dim is not None and self.dim < 1:
            raise InputError(f"dim: must be >= 1, but got {self.dim}")
        if self.tables is not None and self.dim is not None:
            raise InputError("dim: is that of the study's features, so that it may not be given beside tables")
