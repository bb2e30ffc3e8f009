"""The DHE encoder on a GPU: hashes and their scaling in one kernel. Imported only where CUDA and Triton are."""

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["encode"]

P31 = tl.constexpr(2**31 - 1)
P61 = tl.constexpr(2**61 - 1)
MODULUS = tl.constexpr(1_000_000)
_ROWS, _COLUMNS = 16, 128


def encode(
    ids_N: Tensor,
    a_K: Tensor,
    b_K: Tensor,
    cardinality: int,
    prime: int,
    scaling: tuple[float, float],
    out_NK: Tensor,
) -> None:
    """out[i, j] = scale * (((a[j] * ids[i] + b[j]) mod prime) mod 1,000,000) + shift, of contiguous tensors.

    A row is NaN where the id is not in [0, cardinality): the host does not wait for the device to raise.
    """
    count, k = out_NK.shape
    if count == 0:
        return
    grid = (triton.cdiv(count, _ROWS), triton.cdiv(k, _COLUMNS))
    is_wide = prime != P31.value
    _encode_tile[grid](
        ids_N, a_K, b_K, out_NK, count, k, cardinality, *scaling, is_wide, _ROWS, _COLUMNS, enable_fp_fusion=False
    )


def _encode_rows(  # noqa: PLR0917 (a kernel's arguments)
    ids_N: tl.tensor,
    a_K: tl.tensor,
    b_K: tl.tensor,
    out_NK: tl.tensor,
    count: tl.tensor,
    k: tl.tensor,
    cardinality: tl.tensor,
    scale: tl.tensor,
    shift: tl.tensor,
    is_wide: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
) -> None:
    """One tile of `rows` ids x `columns` hashes; one axis of programs for either."""
    i = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    j = tl.program_id(1) * columns + tl.arange(0, columns)
    ids = tl.load(ids_N + i, mask=i < count, other=0)
    is_inside = (ids >= 0) & (ids < cardinality)
    x = ids[:, None].to(tl.uint64)
    a = tl.load(a_K + j, mask=j < k, other=1)[None, :].to(tl.uint64)
    b = tl.load(b_K + j, mask=j < k, other=0)[None, :].to(tl.uint64)
    if is_wide:
        # a x = high 2**64 + low, and 2**61 is 1 modulo p.
        low, high = a * x, tl.umulhi(a, x)
        v = (low & P61) + ((low >> 61) | (high << 3)) + b
        v = (v & P61) + (v >> 61)
        v = tl.where(v >= P61, v - P61, v)
        hashed = (v % MODULUS).to(tl.float32)
    else:
        v = a * x + b
        v = (v & P31) + (v >> 31)
        v = tl.where(v >= P31, v - P31, v)
        hashed = (v.to(tl.uint32) % MODULUS).to(tl.float32)
    scaled = tl.where(is_inside[:, None], hashed * scale + shift, float("nan"))
    tl.store(out_NK + i[:, None] * k + j[None, :], scaled, mask=(i < count)[:, None] & (j < k)[None, :])


_encode_tile = triton.jit(_encode_rows)
