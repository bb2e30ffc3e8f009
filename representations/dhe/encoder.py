"""The first half of a DHE: an id's K hashes, scaled to floats. Nothing in it is learned."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from profiles.errors import InputError
from representations.dhe.hashing import HASH_MODULUS, P31, draw_coefficients, hash_ids
from representations.specs import Transform

__all__ = ["DheEncoder", "runs_compiled"]

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class DheEncoder(nn.Module):
    """ids [N] of integers in [0, cardinality) -> [N, k] float32; `where` names the encoder in errors.

    `uniform` scales a hash h to 2 h / (m - 1) - 1; `gaussian` sets u = (h + 1) / m and turns the pairs of columns
    (0, 1), (2, 3), ... into independent normal variables (Box and Muller). Plain CPU tensors take the compiled kernel,
    which raises InputError for an id beyond its range. Tensors on a GPU take one Triton kernel where Triton is, and all
    others (traced or compiled models) tensor operations: there an id beyond its range gives a row of NaN, as raising
    would need to wait for the device.
    """

    a_K: Tensor
    b_K: Tensor

    def __init__(
        self, k: int, cardinality: int, *, transform: Transform = "uniform", seed: int = 0, where: str = "dhe"
    ) -> None:
        super().__init__()
        if transform == "gaussian" and k % 2:
            raise InputError(f"{where}: k must be even for gaussian pairs, but got {k}")
        coefficients = draw_coefficients(k, cardinality, seed)
        self.k, self.cardinality, self.prime, self.transform = k, cardinality, coefficients.prime, transform
        self.where = where
        self.register_buffer("a_K", torch.tensor(coefficients.a_K))
        self.register_buffer("b_K", torch.tensor(coefficients.b_K))
        m = HASH_MODULUS
        self._scale, self._shift = (2 / (m - 1), -1.0) if transform == "uniform" else (1 / m, 1 / m)

    def forward(self, ids_N: Tensor) -> Tensor:
        """Shape [N, k]."""
        ids_N = self._int64(ids_N)
        if runs_compiled(ids_N):
            return self.encode_into(ids_N, torch.empty(len(ids_N), self.k))
        scaled_NK = self._in_triton(ids_N) if _runs_triton(ids_N) else self._in_torch(ids_N)
        return scaled_NK if self.transform == "uniform" else _box_muller(scaled_NK)

    def checked(self, ids_N: Tensor) -> Tensor:
        """The ids as int64, in range where that can be told without waiting for a device.

        Raises:
            InputError: ids are no integers, or one is not in [0, cardinality); says which.
        """
        ids_N = self._int64(ids_N)
        if runs_compiled(ids_N):
            self._numpy_in_range(ids_N)
        return ids_N

    def is_outside(self, ids_N: Tensor) -> Tensor:
        """Whether each id is beyond the range, [N] bool on the ids' device."""
        return (ids_N < 0) | (ids_N >= self.cardinality)

    def encode_into(self, ids_N: Tensor, out_NK: Tensor) -> Tensor:
        """`forward` into given memory, for plain CPU tensors; `out_NK` is float32 and contiguous.

        Raises:
            InputError: an id is not in [0, cardinality).
        """
        self._encode_numpy(self._numpy_in_range(ids_N), out_NK.numpy())
        return out_NK

    def blocks(self, ids_N: Tensor, rows: int) -> Iterator[Tensor]:
        """The encodings of plain CPU tensors, `rows` ids at a time [rows, k]: views of memory that each one overwrites.

        Raises:
            InputError: an id is not in [0, cardinality).
        """
        ids = self._numpy_in_range(ids_N)
        buffer_RK = torch.empty(min(rows, len(ids)), self.k)
        # Both views are made once: with a hundred ids a block, making them is a twentieth of the time.
        out_RK = buffer_RK.numpy()
        for begin in range(0, max(len(ids), 1), rows):
            left = len(ids) - begin
            self._encode_numpy(ids[begin : begin + rows], out_RK[:left])
            yield buffer_RK if left >= len(buffer_RK) else buffer_RK[:left]

    def extra_repr(self) -> str:
        """What a printed model shows."""
        return f"k={self.k}, cardinality={self.cardinality}, transform={self.transform!r}"

    def _int64(self, ids_N: Tensor) -> Tensor:
        if ids_N.dtype == torch.int64:
            return ids_N
        if ids_N.dtype not in _INTEGERS:
            raise InputError(f"{self.where}: ids must be integers, but got {ids_N.dtype}")
        return ids_N.long()

    def _numpy_in_range(self, ids_N: Tensor) -> NDArray[np.int64]:
        from representations.dhe.kernels import first_outside

        ids: NDArray[np.int64] = ids_N.contiguous().numpy()
        outside = first_outside(ids, self.cardinality)
        if outside >= 0:
            raise InputError(
                f"{self.where}: ids must be in [0, {self.cardinality}), but number {outside} is {ids[outside]}"
            )
        return ids

    def _encode_numpy(self, ids: NDArray[np.int64], out_NK: NDArray[np.float32]) -> None:
        from representations.dhe import kernels

        kernel = kernels.encode_31 if self.prime == P31 else kernels.encode_61
        kernel(ids, self.a_K.numpy(), self.b_K.numpy(), np.float32(self._scale), np.float32(self._shift), out_NK)
        if self.transform == "gaussian":
            out_NK[:] = _box_muller(torch.from_numpy(out_NK)).numpy()

    def _in_triton(self, ids_N: Tensor) -> Tensor:
        from representations.dhe.triton_kernel import encode

        out_NK = torch.empty(len(ids_N), self.k, device=ids_N.device)
        encode(ids_N.contiguous(), self.a_K, self.b_K, self.cardinality, self.prime, (self._scale, self._shift), out_NK)
        return out_NK

    def _in_torch(self, ids_N: Tensor) -> Tensor:
        hashed_NK = hash_ids(ids_N, self.a_K, self.b_K, self.prime)
        scale_N1 = torch.where(self.is_outside(ids_N)[:, None], math.nan, self._scale)
        return hashed_NK.float().mul_(scale_N1).add_(self._shift)


def runs_compiled(ids_N: Tensor) -> bool:
    """Whether the compiled kernels can take the tensor: a plain one of 64-bit integers on the CPU, and no tracing."""
    is_plain = type(ids_N) is Tensor and ids_N.device.type == "cpu" and ids_N.dtype == torch.int64
    return is_plain and not torch.compiler.is_compiling()


def _runs_triton(ids_N: Tensor) -> bool:
    if ids_N.device.type != "cuda" or torch.compiler.is_compiling():
        return False
    from importlib.util import find_spec

    return find_spec("triton") is not None


def _box_muller(uniform_NK: Tensor) -> Tensor:
    radius = uniform_NK[:, 0::2].log().mul_(-2).sqrt_()
    angle = uniform_NK[:, 1::2] * (2 * math.pi)
    return torch.stack((radius * angle.cos(), radius * angle.sin()), dim=2).flatten(1)
