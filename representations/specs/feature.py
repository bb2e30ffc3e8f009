"""A categorical feature of a data set."""

from dataclasses import dataclass

from profiles.errors import InputError

__all__ = ["Feature"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """A categorical feature: ids in [0, cardinality), `pooling` ids per sample on average (1 = one-hot)."""

    name: str
    cardinality: int
    pooling: float = 1.0

    def __post_init__(self) -> None:
        if self.cardinality < 1:
            raise InputError(f"feature {self.name!r}: cardinality must be >= 1, but got {self.cardinality}")
        if not self.pooling > 0:
            raise InputError(f"feature {self.name!r}: pooling must be > 0, but got {self.pooling}")
