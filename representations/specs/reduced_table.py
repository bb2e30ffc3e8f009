"""The spec of a table with fewer rows than ids."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from profiles.errors import InputError, UnknownNameError
from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_ROW_NUMBER, require_positive
from representations.specs.table import TableDtype, TableSpec

__all__ = ["KeptBy", "ReducedTableSpec"]

KeptBy = Literal["hash", "frequency"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReducedTableSpec:
    """A table of `rows` rows for a feature of more ids (the hashing trick, Weinberger et al., arXiv 0902.2206).

    By `hash`, id x reads row x mod rows. By `frequency`, the rows - 1 ids that the training rows hold most often have
    their own and all others share the last; the row number of every id is kept beside the table as a 32-bit integer.
    """

    kind: ClassVar[str] = "reduced-table"
    dim: int
    rows: int
    kept_by: KeptBy = "hash"
    dtype: TableDtype = "float32"

    def __post_init__(self) -> None:
        require_positive("reduced-table", dim=self.dim, rows=self.rows)
        if self.kept_by not in get_args(KeptBy):
            raise UnknownNameError("reduced-table: kept_by", self.kept_by, get_args(KeptBy))
        if self.dtype not in ("float32", "float16"):
            raise UnknownNameError("reduced-table: dtype", self.dtype, ("float32", "float16"))

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    @property
    def table(self) -> TableSpec:
        """The table that is read."""
        return TableSpec(dim=self.dim, dtype=self.dtype)

    def kept(self, feature: Feature) -> Feature:
        """The feature as the table sees it.

        Raises:
            InputError: the feature has no more ids than the table has rows.
        """
        if feature.cardinality <= self.rows:
            raise InputError(
                f"reduced-table: rows must be fewer than the {feature.cardinality} ids of {feature.name!r}, "
                f"but got {self.rows}"
            )
        return Feature(name=feature.name, cardinality=self.rows, pooling=feature.pooling)

    def parameter_bytes(self, feature: Feature) -> int:
        """Rows x bytes of a row, and 4 bytes per id where rows are kept by frequency."""
        numbers = BYTES_PER_ROW_NUMBER * feature.cardinality if self.kept_by == "frequency" else 0
        return self.table.parameter_bytes(self.kept(feature)) + numbers
