"""The spec of embeddings that share one array."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from profiles.errors import InputError
from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_FLOAT, require_positive

__all__ = ["ROBE_PRIME", "RobeSpec", "compressed_robe"]

ROBE_PRIME = 2_038_074_743
# Coefficients A, B and C as 64-bit integers.
_HASH_BYTES = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class RobeSpec:
    """Rows read in hashed blocks from one array that all features of a model share (Desai et al., arXiv 2108.02191).

    Float j of id x lies at ((A (x + off) + B (j // Z) + C) mod P) mod (M - Z + 1) + j mod Z, with M = `floats`,
    Z = `block`, P = 2038074743, and `off` the rows of the features before.
    """

    kind: ClassVar[str] = "robe"
    dim: int
    floats: int
    block: int = 16

    def __post_init__(self) -> None:
        require_positive("robe", dim=self.dim, floats=self.floats, block=self.block)
        if self.floats < self.block:
            raise InputError(f"robe: floats must be >= block {self.block}, but got {self.floats}")

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    @property
    def shared_bytes(self) -> int:
        """The array and its hash, once per model."""
        return self.floats * BYTES_PER_FLOAT + _HASH_BYTES

    def parameter_bytes(self, feature: Feature) -> int:
        """Of a model with this feature alone; features together still have one array (`ModelSpec.embedding_bytes`)."""
        del feature
        return self.shared_bytes


def compressed_robe(features: Sequence[Feature], *, dim: int, compression: float = 1000.0, block: int = 16) -> RobeSpec:
    """The array that is `compression` times smaller than tables of `dim` floats."""
    if not compression >= 1:
        raise InputError(f"robe: compression must be >= 1, but got {compression}")
    floats = round(sum(feature.cardinality for feature in features) * dim / compression)
    return RobeSpec(dim=dim, floats=floats, block=block)
