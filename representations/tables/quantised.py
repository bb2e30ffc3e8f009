"""Tables of 8- or 16-bit rows in fbgemm's table-batched kernel for inference.

Shape suffixes: B samples, W the widths of all tables together, R rows, D numbers of a row.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from profiles.errors import InputError
from representations.bags import Bag, table_batched
from representations.specs import Feature, TableSpec
from representations.tables.kernel_group import KernelGroup

__all__ = ["QuantisedTables"]

_LEVELS = 255
_SCALE_BYTES = 4
# The least 16-bit float above 0, for rows of equal numbers, which have a scale of 0.
_LEAST_SCALE = 2.0**-24
# fbgemm takes -1 for the row of a pruned id, which gives zeros; every other negative id it refuses.
_PRUNED, _REFUSED = -1, -2


class QuantisedTables(KernelGroup):
    """A `TableGroup` whose rows are bytes of one buffer; it has no gradient.

    An int8 row is a scale and an offset (16-bit floats) and one byte per number: number = offset + scale x byte, the
    offset being the row's least number, rounded, and the scale a 255th of the range above it, rounded up. A number is
    off by at most half a scale, or by the offset's rounding (2**-11 of it); the scale is at least 2**-24 unless the
    row's numbers are equal. Rows whose scale, offset or 16-bit numbers would be beyond 65,504 are refused.
    """

    weight: Tensor

    def __init__(self, features: Sequence[Feature], specs: Sequence[TableSpec]) -> None:
        super().__init__(features, specs)
        self.is_int8 = specs[0].dtype == "int8"
        self._sizes = [(f.cardinality, s.row_bytes) for f, s in zip(features, specs, strict=True)]
        count = sum(rows * row_bytes for rows, row_bytes in self._sizes)
        self.register_buffer("weight", torch.empty(count, dtype=torch.uint8))
        self._draw_rows()

    def forward(self, bags: Sequence[Bag]) -> Tensor:
        """Shape [B, W]."""
        ids_N, offsets_T = table_batched(bags)
        ids_N = ids_N.masked_fill(ids_N == _PRUNED, _REFUSED)
        rows_BW: Tensor = self.kernel(ids_N, offsets_T)
        return rows_BW

    def read_rows(self, table: int) -> Tensor:
        """Shape [R, D]."""
        stored_RD = self._rows(table)
        if not self.is_int8:
            return stored_RD.view(torch.float16).float()
        head_R2 = stored_RD[:, :_SCALE_BYTES].contiguous().view(torch.float16).float()
        return head_R2[:, 1:] + head_R2[:, :1] * stored_RD[:, _SCALE_BYTES:]

    def write_rows(self, table: int, rows_RD: Tensor, first: int = 0) -> None:
        """Round the rows and copy them in.

        Raises:
            InputError: numbers that are not finite, or too large for 16-bit floats (an int8 row's scale and offset).
        """
        stored_RD = self._rows(table)[first : first + len(rows_RD)]
        if not self.is_int8:
            half_RD = rows_RD.half()
            self._require_finite(table, half_RD, first)
            stored_RD.view(torch.float16).copy_(half_RD)
            return
        offset_R1, greatest_R1 = rows_RD.amin(1, keepdim=True).half(), rows_RD.amax(1, keepdim=True)
        scale_R1 = _rounded_up((greatest_R1 - offset_R1.float()).clamp_min(0) / _LEVELS)
        self._require_finite(table, torch.cat((scale_R1, offset_R1), dim=1), first)
        steps_RD = (rows_RD - offset_R1) / scale_R1.float().clamp_min(_LEAST_SCALE)
        head_R4 = torch.cat((scale_R1, offset_R1), dim=1).view(torch.uint8)
        stored_RD.copy_(torch.cat((head_R4, steps_RD.round_().clamp_(0, _LEVELS).to(torch.uint8)), dim=1))

    def _require_finite(self, table: int, stored_RD: Tensor, first: int) -> None:
        is_bad_R = ~stored_RD.isfinite().all(1)
        if is_bad_R.any():
            raise InputError(
                f"feature {self.features[table].name!r}: row {first + int(is_bad_R.nonzero()[0])}: "
                f"holds numbers that {self.specs[table].dtype} rows cannot, which have 16-bit floats up to 65504"
            )

    def _rows(self, table: int) -> Tensor:
        begin = sum(rows * row_bytes for rows, row_bytes in self._sizes[:table])
        rows, row_bytes = self._sizes[table]
        return self.weight[begin : begin + rows * row_bytes].view(rows, row_bytes)

    def _new_kernel(self) -> nn.Module:
        from fbgemm_gpu.split_embedding_configs import SparseType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import BoundsCheckMode, EmbeddingLocation
        from fbgemm_gpu.split_table_batched_embeddings_ops_inference import IntNBitTableBatchedEmbeddingBagsCodegen

        is_cpu = self.weight.device.type == "cpu"
        location = EmbeddingLocation.HOST if is_cpu else EmbeddingLocation.DEVICE
        stored = SparseType.INT8 if self.is_int8 else SparseType.FP16
        kernel: Any = IntNBitTableBatchedEmbeddingBagsCodegen(
            [(f.name, f.cardinality, s.dim, stored, location) for f, s in zip(self.features, self.specs, strict=True)],
            device=self.weight.device,
            output_dtype=SparseType.FP32,
            bounds_check_mode=BoundsCheckMode.FATAL,
            cacheline_alignment=False,
            row_alignment=1,
        )
        kernel.initialize_weights()
        setattr(kernel, "weights_host" if is_cpu else "weights_dev", self.weight)
        module: nn.Module = kernel
        return module


def _rounded_up(values: Tensor) -> Tensor:
    """The least 16-bit floats that are no smaller, of values >= 0: the next float has the next bits."""
    nearest = values.half()
    return (nearest.view(torch.int16) + (nearest.float() < values)).view(torch.float16)
