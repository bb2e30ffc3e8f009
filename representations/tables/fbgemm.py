"""Tables in fbgemm's table-batched kernel, whose backward pass can run the optimizer as well.

Shape suffixes: B samples, N flat ids, T tables, W the widths of all tables together, R rows, D floats of a row.
"""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from profiles.errors import InputError
from representations.bags import Bag, table_batched
from representations.specs import Feature, TableSpec
from representations.table import summed_rows
from representations.tables.kernel_group import KernelGroup

__all__ = ["FbgemmTables", "fuse_optimizers"]


class FbgemmTables(KernelGroup):
    """A `TableGroup` of equally wide tables on one parameter [R, D], table after table.

    As built, it gives ordinary gradients (sparse ones where `sparse` is set) and runs fbgemm's kernel where none are
    asked for. After `fuse_optimizer` the backward pass of fbgemm's kernel updates the touched rows itself, by exact
    row-wise Adagrad: gradients of duplicate ids are summed first, the parameter gets no `grad`, and no other optimizer
    may have it. The optimizer's state is one float per row, in the buffer `squares`.
    """

    squares: Tensor | None

    def __init__(self, features: Sequence[Feature], specs: Sequence[TableSpec]) -> None:
        super().__init__(features, specs)
        if len({spec.dim for spec in specs}) > 1:
            raise InputError(f"tables: an fbgemm group needs one dim, but got {sorted({spec.dim for spec in specs})}")
        self.dim, self.sparse = specs[0].dim, False
        self.rows = [feature.cardinality for feature in features]
        dtype: torch.dtype = getattr(torch, specs[0].dtype)
        self.weight = nn.Parameter(torch.empty(sum(self.rows), self.dim, dtype=dtype))
        self.register_buffer("squares", None)
        self._fused: dict[str, float] = {}
        self._draw_rows()

    @property
    def is_fused(self) -> bool:
        """Whether the backward pass updates the rows."""
        return bool(self._fused)

    def fuse_optimizer(self, *, learning_rate: float, epsilon: float = 1e-10) -> None:
        """From now on, backward updates: row -= rate x gradient / (sqrt(sum of mean squares) + epsilon)."""
        if not learning_rate > 0:
            raise InputError(f"fused optimizer: learning_rate must be > 0, but got {learning_rate}")
        self._fused = {"learning_rate": learning_rate, "eps": epsilon}
        self.drop_kernel()
        if self.squares is None:
            self.squares = torch.zeros(len(self.weight), device=self.weight.device)

    def unfuse_optimizer(self) -> None:
        """Back to ordinary gradients; the optimizer's state is dropped."""
        self._fused, self.squares = {}, None
        self.drop_kernel()

    def forward(self, bags: Sequence[Bag]) -> Tensor:
        """Shape [B, W]."""
        ids_N, offsets_T = table_batched(bags)
        if torch.is_grad_enabled() and self.weight.requires_grad and not self.is_fused:
            return self._differentiable(ids_N, offsets_T, [len(bag[0]) for bag in bags])
        rows_BW: Tensor = self.kernel(ids_N, offsets_T)
        return rows_BW

    def read_rows(self, table: int) -> Tensor:
        """Shape [R, D]."""
        return self._rows(table).float()

    def write_rows(self, table: int, rows_RD: Tensor, first: int = 0) -> None:
        """Copy the rows in."""
        self._rows(table)[first : first + len(rows_RD)].copy_(rows_RD)

    def _rows(self, table: int) -> Tensor:
        return torch.split(self.weight.detach(), self.rows)[table]

    def _differentiable(self, ids_N: Tensor, offsets_T: Tensor, counts: list[int]) -> Tensor:
        """All tables as one of torch's; an id beyond its own table would read the next one's row."""
        rows_T = torch.tensor(self.rows, device=ids_N.device)
        counts_T = torch.tensor(counts, device=ids_N.device)
        is_bad_N = (ids_N < 0) | (ids_N >= rows_T.repeat_interleave(counts_T))
        if is_bad_N.any():
            self._refuse(int(is_bad_N.nonzero()[0]), ids_N, counts)
        places_N = ids_N + (rows_T.cumsum(0) - rows_T).repeat_interleave(counts_T)
        bags_TBD = summed_rows(places_N, self.weight, offsets_T[:-1], sparse=self.sparse)
        return bags_TBD.view(len(counts), -1, self.dim).transpose(0, 1).flatten(1)

    def _refuse(self, place: int, ids_N: Tensor, counts: list[int]) -> None:
        table = next(i for i, end in enumerate(accumulate(counts)) if place < end)
        feature = self.features[table]
        raise InputError(
            f"feature {feature.name!r}: id must be in [0, {feature.cardinality}), but got {int(ids_N[place])}"
        )

    def _new_kernel(self) -> nn.Module:
        return self._fused_kernel() if self._fused else self._plain_kernel()

    def _plain_kernel(self) -> nn.Module:
        from fbgemm_gpu.split_embedding_configs import SparseType
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import DenseTableBatchedEmbeddingBagsCodegen

        kernel: nn.Module = DenseTableBatchedEmbeddingBagsCodegen(
            [(rows, self.dim) for rows in self.rows],
            use_cpu=self.weight.device.type == "cpu",
            weights_precision=SparseType.from_dtype(self.weight.dtype),
            output_dtype=SparseType.FP32,
        )
        kernel.weights = self._flat()
        return kernel

    def _fused_kernel(self) -> nn.Module:
        from fbgemm_gpu.split_embedding_configs import EmbOptimType, SparseType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import BoundsCheckMode, EmbeddingLocation
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
            ComputeDevice,
            SplitTableBatchedEmbeddingBagsCodegen,
        )

        is_cpu = self.weight.device.type == "cpu"
        location, compute = (
            (EmbeddingLocation.HOST, ComputeDevice.CPU) if is_cpu else (EmbeddingLocation.DEVICE, ComputeDevice.CUDA)
        )
        kernel: nn.Module = SplitTableBatchedEmbeddingBagsCodegen(
            [(rows, self.dim, location, compute) for rows in self.rows],
            optimizer=EmbOptimType.EXACT_ROWWISE_ADAGRAD,
            weights_precision=SparseType.from_dtype(self.weight.dtype),
            output_dtype=SparseType.FP32,
            stochastic_rounding=False,
            bounds_check_mode=BoundsCheckMode.FATAL,
            **self._fused,
        )
        place = "host" if is_cpu else "dev"
        setattr(kernel, f"weights_{place}", self._flat())
        getattr(kernel, f"momentum1_{place}").data = self.squares
        return kernel

    def _flat(self) -> nn.Parameter:
        """The rows' memory as fbgemm has it."""
        return nn.Parameter(self.weight.detach().view(-1), requires_grad=self.weight.requires_grad)


def fuse_optimizers(model: nn.Module, *, learning_rate: float, epsilon: float = 1e-10) -> list[FbgemmTables]:
    """Fuse the optimizer of every fbgemm group in the model; these groups' parameters are nobody else's to update."""
    groups = [module for module in model.modules() if isinstance(module, FbgemmTables)]
    for group in groups:
        group.fuse_optimizer(learning_rate=learning_rate, epsilon=epsilon)
    return groups
