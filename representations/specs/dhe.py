"""The spec of a deep hash embedding."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, get_args

from profiles.errors import InputError, UnknownNameError
from representations.specs.feature import Feature
from representations.specs.sizes import BYTES_PER_FLOAT, BYTES_PER_HASH, require_positive

__all__ = ["Activation", "DheSpec", "Norm", "Transform"]

Activation = Literal["mish", "relu"]
Norm = Literal["none", "batch"]
Transform = Literal["uniform", "gaussian"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DheSpec:
    """Deep hash embedding (Kang et al., arXiv 2010.10784): `k` hashes of the id, decoded by an MLP to `dim` floats.

    `widths` are the decoder's hidden layers: Linear, then BatchNorm where `norm` is `batch`, then the activation.
    """

    kind: ClassVar[str] = "dhe"
    dim: int
    k: int = 1024
    widths: tuple[int, ...] = (128,)
    activation: Activation = "mish"
    norm: Norm = "none"
    transform: Transform = "uniform"

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))
        require_positive("dhe", dim=self.dim, k=self.k, **{f"widths[{i}]": w for i, w in enumerate(self.widths)})
        for name, known in (("activation", Activation), ("norm", Norm), ("transform", Transform)):
            if getattr(self, name) not in get_args(known):
                raise UnknownNameError(f"dhe: {name}", str(getattr(self, name)), get_args(known))
        if self.transform == "gaussian" and self.k % 2:
            raise InputError(f"dhe: k must be even for gaussian pairs, but got {self.k}")

    @property
    def width(self) -> int:
        """Floats per sample that come out."""
        return self.dim

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of each decoder layer."""
        sizes = (self.k, *self.widths, self.dim)
        return tuple(pairwise(sizes))

    def parameter_bytes(self, feature: Feature) -> int:
        """Decoder weights and biases, BatchNorm's four vectors and counter, and 16 bytes per hash function."""
        del feature
        norm_bytes = sum(4 * w * BYTES_PER_FLOAT + 8 for w in self.widths) if self.norm == "batch" else 0
        decoder = sum((inputs + 1) * outputs for inputs, outputs in self.layers) * BYTES_PER_FLOAT
        return decoder + norm_bytes + BYTES_PER_HASH * self.k
