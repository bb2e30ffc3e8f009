"""The spec of mixed-dimension embeddings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from profiles.errors import InputError
from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_FLOAT, require_positive

__all__ = ["MixedDimensionSpec", "mixed_dimensions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MixedDimensionSpec:
    """A table of `inner_dim` floats per id and a projection without bias to `dim` (Ginart et al., arXiv 1909.11810).

    A feature whose `inner_dim` is `dim` has no projection. `mixed_dimensions` gives each feature of a model its own.
    """

    kind: ClassVar[str] = "mixed-dimension"
    dim: int
    inner_dim: int

    def __post_init__(self) -> None:
        require_positive("mixed-dimension", dim=self.dim, inner_dim=self.inner_dim)
        if self.inner_dim > self.dim:
            raise InputError(f"mixed-dimension: inner_dim must be <= dim {self.dim}, but got {self.inner_dim}")

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    @property
    def has_projection(self) -> bool:
        """Whether the table is narrower than what comes out."""
        return self.inner_dim < self.dim

    def parameter_bytes(self, feature: Feature) -> int:
        """(n x inner_dim + inner_dim x dim) x 4, the second term where there is a projection."""
        projection = self.inner_dim * self.dim if self.has_projection else 0
        return (feature.cardinality * self.inner_dim + projection) * BYTES_PER_FLOAT


def mixed_dimensions(
    features: Sequence[Feature], *, dim: int, temperature: float = 0.3
) -> tuple[MixedDimensionSpec, ...]:
    """The popularity rule: dim x (fewest rows / rows) ** temperature, to the nearest power of two in 1..`dim`.

    A temperature of 0 leaves every feature its full width.

    Raises:
        InputError: no feature, a dim below 1, or a temperature that is negative or infinite.
    """
    require_positive("mixed-dimension", dim=dim)
    if not features:
        raise InputError("mixed-dimension: needs at least one feature, but got none")
    if not 0 <= temperature < math.inf:
        raise InputError(f"mixed-dimension: temperature must be finite and >= 0, but got {temperature}")
    fewest = min(feature.cardinality for feature in features)
    exponents = (math.log2(dim) + temperature * math.log2(fewest / feature.cardinality) for feature in features)
    return tuple(MixedDimensionSpec(dim=dim, inner_dim=min(dim, 2 ** max(0, round(log)))) for log in exponents)
