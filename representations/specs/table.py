"""The spec of an embedding table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from profiles.errors import InputError, UnknownNameError
from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_FLOAT, require_positive

__all__ = ["TableBackend", "TableDtype", "TableSpec"]

TableDtype = Literal["float32", "float16", "int8"]
TableBackend = Literal["torch", "torchrec", "fbgemm", "quantised"]
_DTYPES: Mapping[TableBackend, tuple[TableDtype, ...]] = {
    "torch": ("float32", "float16"),
    "torchrec": ("float32", "float16"),
    "fbgemm": ("float32", "float16"),
    "quantised": ("float16", "int8"),
}
_BYTES: Mapping[TableDtype, int] = {"float32": BYTES_PER_FLOAT, "float16": 2, "int8": 1}
# An int8 row begins with its scale and offset as 16-bit floats.
_SCALE_BYTES = 4
# The table-batched kernels take whole vectors of four floats.
_FBGEMM_MULTIPLE = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class TableSpec:
    """An embedding table: one row of `dim` numbers per id, rows of a sample summed; float32 comes out.

    `backend` says whose kernel reads it: `torch` (one `nn.EmbeddingBag`), `torchrec` (an `EmbeddingBagCollection`),
    `fbgemm` (table-batched, trainable in one kernel) or `quantised` (table-batched, for inference). The last three take
    all tables of a model that are alike in back end and dtype in one call. An int8 row has a scale and an offset.
    Rows of a sample are summed in float32. torchrec's collection then rounds the sum to the rows' dtype: of float16
    rows it is off by up to 2**-11 of itself, and infinite beyond 65,504.
    """

    kind: ClassVar[str] = "table"
    dim: int
    dtype: TableDtype = "float32"
    backend: TableBackend = "torch"

    def __post_init__(self) -> None:
        require_positive("table", dim=self.dim)
        if self.backend not in get_args(TableBackend):
            raise UnknownNameError("table: backend", self.backend, get_args(TableBackend))
        if self.dtype not in _DTYPES[self.backend]:
            raise UnknownNameError(f"table: dtype of backend {self.backend!r}", self.dtype, _DTYPES[self.backend])
        if self.backend == "fbgemm" and self.dim % _FBGEMM_MULTIPLE:
            raise InputError(f"table: dim must be a multiple of 4 for backend 'fbgemm', but got {self.dim}")

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    @property
    def row_bytes(self) -> int:
        """Bytes of one row, an int8 row's scale and offset included."""
        return self.dim * _BYTES[self.dtype] + (_SCALE_BYTES if self.dtype == "int8" else 0)

    def parameter_bytes(self, feature: Feature) -> int:
        """Rows x bytes of a row."""
        return feature.cardinality * self.row_bytes
