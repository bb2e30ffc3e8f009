"""The spec of an embedding table."""

from dataclasses import dataclass
from typing import ClassVar

from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_FLOAT, require_positive

__all__ = ["TableSpec"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TableSpec:
    """An embedding table: one row of `dim` floats per id, rows of a sample summed."""

    kind: ClassVar[str] = "table"
    dim: int

    def __post_init__(self) -> None:
        require_positive("table", dim=self.dim)

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    def parameter_bytes(self, feature: Feature) -> int:
        """Rows x dim x 4."""
        return feature.cardinality * self.dim * BYTES_PER_FLOAT
