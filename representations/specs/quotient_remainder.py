"""The spec of quotient-remainder embeddings."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from profiles.errors import UnknownNameError
from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_FLOAT, require_positive

__all__ = ["Combination", "QuotientRemainderSpec"]

Combination = Literal["mult", "add", "concat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class QuotientRemainderSpec:
    """An id's rows in two small tables, combined (Shi et al., arXiv 1909.02107).

    With c = `collisions`, id x reads row x // c of ceil(n / c) and row x mod c of c, both `dim` floats wide; no two ids
    share both rows. A feature of at most `threshold_rows` ids keeps a plain table.
    """

    kind: ClassVar[str] = "quotient-remainder"
    dim: int
    collisions: int = 4
    operation: Combination = "mult"
    threshold_rows: int = 200

    def __post_init__(self) -> None:
        require_positive("quotient-remainder", dim=self.dim, collisions=self.collisions)
        require_positive("quotient-remainder", threshold_rows=self.threshold_rows)
        if self.operation not in get_args(Combination):
            raise UnknownNameError("quotient-remainder: operation", self.operation, get_args(Combination))

    @property
    def width(self) -> int:
        """Floats per sample that come out: twice `dim` where the rows are concatenated."""
        return 2 * self.dim if self.operation == "concat" else self.dim

    def is_plain(self, feature: Feature) -> bool:
        """Whether the feature keeps a plain table, `width` floats wide."""
        return feature.cardinality <= self.threshold_rows

    def rows(self, feature: Feature) -> tuple[int, int]:
        """Rows of the quotient's table and of the remainder's."""
        return -(-feature.cardinality // self.collisions), self.collisions

    def parameter_bytes(self, feature: Feature) -> int:
        """(ceil(n / c) + c) x dim x 4, or n x width x 4 for a plain table."""
        floats = feature.cardinality * self.width if self.is_plain(feature) else sum(self.rows(feature)) * self.dim
        return floats * BYTES_PER_FLOAT
