"""The spec of a table beside a DHE."""

from dataclasses import dataclass
from typing import ClassVar

from representations.specs.dhe import DheSpec
from representations.specs.feature import Feature
from representations.specs.table import TableSpec

__all__ = ["HybridSpec"]


@dataclass(frozen=True, kw_only=True, slots=True)
class HybridSpec:
    """A table and a DHE side by side, outputs concatenated, trained jointly (Hsia et al., arXiv 2302.10872)."""

    kind: ClassVar[str] = "hybrid"
    table: TableSpec
    dhe: DheSpec

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.table.dim + self.dhe.dim

    def parameter_bytes(self, feature: Feature) -> int:
        """The sum of both parts."""
        return self.table.parameter_bytes(feature) + self.dhe.parameter_bytes(feature)
