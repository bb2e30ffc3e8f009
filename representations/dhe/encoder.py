"""The first half of a DHE: an id's K hashes, scaled to floats. Nothing in it is learned."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from representations.dhe.hashing import HASH_MODULUS, P31, draw_coefficients, hash_ids
from representations.specs import Transform

__all__ = ["DheEncoder"]


class DheEncoder(nn.Module):
    """ids [N] int64 in [0, cardinality) -> [N, k] float32.

    `uniform` scales a hash h to 2 h / (m - 1) - 1; `gaussian` sets u = (h + 1) / m and turns the pairs of columns
    (0, 1), (2, 3), ... into independent normal variables (Box and Muller). Plain CPU tensors take the compiled kernel,
    all others (a GPU, a traced or compiled model) the same arithmetic in torch operations.
    """

    a_K: Tensor
    b_K: Tensor

    def __init__(self, k: int, cardinality: int, *, transform: Transform = "uniform", seed: int = 0) -> None:
        super().__init__()
        coefficients = draw_coefficients(k, cardinality, seed)
        self.k, self.cardinality, self.prime, self.transform = k, cardinality, coefficients.prime, transform
        self.register_buffer("a_K", torch.tensor(coefficients.a_K))
        self.register_buffer("b_K", torch.tensor(coefficients.b_K))
        m = HASH_MODULUS
        self._scale, self._shift = (2 / (m - 1), -1.0) if transform == "uniform" else (1 / m, 1 / m)

    def forward(self, ids_N: Tensor) -> Tensor:
        """Shape [N, k]."""
        encoded_NK = self._compiled(ids_N) if self._can_run_compiled(ids_N) else self._in_torch(ids_N)
        return encoded_NK if self.transform == "uniform" else _box_muller(encoded_NK)

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"k={self.k}, cardinality={self.cardinality}, transform={self.transform!r}"

    def _can_run_compiled(self, ids_N: Tensor) -> bool:
        return type(ids_N) is Tensor and ids_N.device.type == "cpu" and not torch.compiler.is_compiling()

    def _compiled(self, ids_N: Tensor) -> Tensor:
        from representations.dhe import kernels

        encode = kernels.encode_31 if self.prime == P31 else kernels.encode_61
        encoded_NK = np.empty((len(ids_N), self.k), dtype=np.float32)
        arrays = (ids_N.numpy(), self.a_K.numpy(), self.b_K.numpy())
        encode(*arrays, np.float32(self._scale), np.float32(self._shift), encoded_NK)
        return torch.from_numpy(encoded_NK)

    def _in_torch(self, ids_N: Tensor) -> Tensor:
        hashed_NK = hash_ids(ids_N, self.a_K, self.b_K, self.prime)
        return hashed_NK.float().mul_(self._scale).add_(self._shift)


def _box_muller(uniform_NK: Tensor) -> Tensor:
    radius = uniform_NK[:, 0::2].log().mul_(-2).sqrt_()
    angle = uniform_NK[:, 1::2] * (2 * math.pi)
    return torch.stack((radius * angle.cos(), radius * angle.sin()), dim=2).flatten(1)
