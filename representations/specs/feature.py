"""A categorical feature of a data set."""

import math
from dataclasses import dataclass

from profiles.errors import InputError
from representations.specs.sizes import require_number, require_positive

__all__ = ["Feature"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """A categorical feature: ids in [0, cardinality), `pooling` ids per sample on average (1 = one-hot)."""

    name: str
    cardinality: int
    pooling: float = 1.0

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError(f"feature: name must not be empty, but got {self.name!r}")
        require_positive(f"feature {self.name!r}", cardinality=self.cardinality)
        require_number(f"feature {self.name!r}: pooling", self.pooling)
        if not 0 < self.pooling < math.inf:
            raise InputError(f"feature {self.name!r}: pooling must be finite and > 0, but got {self.pooling}")
