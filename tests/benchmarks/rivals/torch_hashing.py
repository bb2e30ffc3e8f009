"""A DHE encoder as plain tensor operations in 64-bit integers."""

import torch
from torch import Tensor

__all__ = ["encode"]


def encode(ids_N: Tensor, a_K: Tensor, b_K: Tensor, prime: int, modulus: int) -> Tensor:
    """The hashes ((a x + b) mod p) mod m, scaled to [-1, 1]: [N, K] float32."""
    hashed_NK = (ids_N[:, None] * a_K + b_K) % prime % modulus
    return hashed_NK.to(torch.float32) * (2 / (modulus - 1)) - 1
