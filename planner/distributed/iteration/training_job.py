"""What one iteration of training does: the dense part, the tables, and how numbers travel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from planner.distributed.iteration.dense_stack import NO_LAYERS, DenseStack
from planner.distributed.tables import EmbeddingTable
from profiles.errors import InputError, UnknownNameError

__all__ = ["BYTES_PER_NUMBER", "CollectiveDtype", "DenseOptimizer", "TrainingJob"]

CollectiveDtype = Literal["float32", "float16", "bfloat16", "int8"]
DenseOptimizer = Literal["sgd", "adagrad", "adam"]
BYTES_PER_NUMBER: Mapping[str, int] = {"float32": 4, "tf32": 4, "float16": 2, "bfloat16": 2, "int8": 1}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJob:
    """A DLRM: `bottom` over dense features, `tables`, an interaction, `top`; batch `batch_per_rank` on every rank.

    `per_id` is what every rank runs on its own `local_ids_per_sample` instead of looking them up (`with_dhe` sets
    both). Pooled embeddings travel as `forward_dtype`, their gradients as `backward_dtype`, dense gradients as float32.
    `dense_optimizer` is None where its step is left out of the account. Where `is_input_pipelined`, the next inputs are
    copied, distributed and fetched meanwhile. `lookups_beside_dense`: look-ups run beside matrix products, as in the
    published equations, else one after the other, as on one stream of a GPU. `is_network_shared`: pooled embeddings,
    dense gradients and ids take turns on the network, else each has the bandwidth that it was measured with, which at
    scale is a part of what a link carries. `gradient_bucket_bytes` are reduced at once
    while the backward pass goes on (25 MiB in PyTorch's DistributedDataParallel), but no less than a layer's.
    """

    name: str
    tables: tuple[EmbeddingTable, ...]
    batch_per_rank: int
    bottom: DenseStack = NO_LAYERS
    top: DenseStack = NO_LAYERS
    per_id: DenseStack = NO_LAYERS
    interaction_flops_per_sample: float = 0.0
    interaction_numbers_per_sample: float = 0.0
    dense_features: int = 0
    local_ids_per_sample: float = 0.0
    compute_dtype: str = "tf32"
    forward_dtype: CollectiveDtype = "float32"
    backward_dtype: CollectiveDtype = "float32"
    dense_optimizer: DenseOptimizer | None = "sgd"
    is_input_pipelined: bool = True
    lookups_beside_dense: bool = False
    is_network_shared: bool = False
    gradient_bucket_bytes: int = 25 * 2**20

    def __post_init__(self) -> None:
        if self.batch_per_rank < 1:
            raise InputError(f"batch_per_rank: must be >= 1, but got {self.batch_per_rank}")
        for name in ("interaction_flops_per_sample", "interaction_numbers_per_sample", "local_ids_per_sample"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name}: must be finite and >= 0, but got {getattr(self, name)}")
        if self.dense_features < 0 or self.gradient_bucket_bytes < 1:
            raise InputError(
                "dense_features must be >= 0 and gradient_bucket_bytes >= 1, but got "
                f"{self.dense_features} and {self.gradient_bucket_bytes}"
            )
        for name in ("forward_dtype", "backward_dtype"):
            if getattr(self, name) not in get_args(CollectiveDtype):
                raise UnknownNameError(name, getattr(self, name), get_args(CollectiveDtype))
        if self.dense_optimizer is not None and self.dense_optimizer not in get_args(DenseOptimizer):
            raise UnknownNameError("dense_optimizer", self.dense_optimizer, get_args(DenseOptimizer))
        if self.compute_dtype not in BYTES_PER_NUMBER:
            raise UnknownNameError("compute_dtype", self.compute_dtype, BYTES_PER_NUMBER)

    @property
    def dense_parameters(self) -> int:
        """What every rank holds, and reduces the gradients of."""
        return self.bottom.parameters + self.top.parameters + self.per_id.parameters

    @property
    def forward_flops_per_sample(self) -> float:
        """FLOPs of all dense work of a forward pass."""
        stacks = (self.bottom, self.top, self.per_id)
        return sum(stack.flops_per_sample for stack in stacks) + self.interaction_flops_per_sample
