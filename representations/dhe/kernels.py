"""Hashing and scaling in one pass over the output, compiled for the CPU: the encoder without temporaries.

All compiled code of the package is in this file, so that numba's disk cache is never stale.
Each kernel writes out[i, j] = scale * (((a[j] * ids[i] + b[j]) mod p) mod 1,000,000) + shift.
"""

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["encode_31", "encode_61"]

P31 = 2**31 - 1
P61 = 2**61 - 1
MODULUS = 1_000_000
LOW_30 = 2**30 - 1
LOW_31 = 2**31 - 1
LOW_32 = 2**32 - 1
# floor(v / 10**6) = (v * RECIPROCAL) >> 50 for every v < 2**31: the error of RECIPROCAL / 2**50 times 2**31 is < 1e-6.
RECIPROCAL = 1_125_899_907
SHIFT = 50

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]


@numba.njit(nogil=True, cache=True, boundscheck=False)
def encode_31(ids_N: Ids, a_K: Ids, b_K: Ids, scale: np.float32, shift: np.float32, out_NK: Floats) -> None:
    """Modulo p = 2**31 - 1, for ids below p; the masks tell the compiler that 32-bit multiplications do."""
    for i in range(ids_N.shape[0]):
        x = ids_N[i] & LOW_32
        for j in range(a_K.shape[0]):
            v = (a_K[j] & LOW_32) * x + b_K[j]
            v = (v & P31) + (v >> 31)
            v = (v & P31) + (v >> 31)
            v = 0 if v == P31 else v
            v &= LOW_32
            hashed = v - ((v * RECIPROCAL) >> SHIFT) * MODULUS
            out_NK[i, j] = np.float32(np.int32(hashed)) * scale + shift


@numba.njit(nogil=True, cache=True, boundscheck=False)
def encode_61(ids_N: Ids, a_K: Ids, b_K: Ids, scale: np.float32, shift: np.float32, out_NK: Floats) -> None:
    """Modulo p = 2**61 - 1, for ids below p, from 31-bit limbs (`hashing.multiply_add_61` gives the derivation)."""
    for i in range(ids_N.shape[0]):
        x_high, x_low = ids_N[i] >> 31, ids_N[i] & LOW_31
        for j in range(a_K.shape[0]):
            a_high, a_low = a_K[j] >> 31, a_K[j] & LOW_31
            middle = a_high * x_low + a_low * x_high
            low = a_low * x_low
            v = 2 * a_high * x_high + (middle >> 30) + ((middle & LOW_30) << 31) + (low & P61) + (low >> 61)
            v = (v & P61) + (v >> 61) + b_K[j]
            v = (v & P61) + (v >> 61)
            v = v - P61 if v >= P61 else v
            out_NK[i, j] = np.float32(v % MODULUS) * scale + shift
