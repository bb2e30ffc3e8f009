"""The compiled CPU parts of a DHE: hashing and scaling in one pass, distinct ids, and Mish with one exponential.

All compiled code of the package is in this file, so that numba's disk cache is never stale.
Each encoder writes out[i, j] = scale * (((a[j] * ids[i] + b[j]) mod p) mod 1,000,000) + shift.

`encode_31` is written in vectors (LLVM's, so any instruction set), because the loop vectoriser widens its 32-bit
numbers to 64 bit. With P = 2 (a x + b) < 2**63, the high half of P is (a x + b) >> 31 and half of its low half is
(a x + b) mod 2**31; their sum is a x + b modulo p and below 2 p, so that one conditional subtraction ends it:
min(v, v - p) in unsigned numbers. The quotient by 1,000,000 is a 16-bit product that is at most one too small, and
the remainder is corrected alike. Rows are worked on side by side, as one row alone waits for its own multiplications.
"""

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["distinct", "encode_31", "encode_61", "first_outside", "mish", "mish_gradient"]

P31 = 2**31 - 1
P61 = 2**61 - 1
MODULUS = 1_000_000
LOW_32 = 2**32 - 1
# ((v >> 15) * QUOTIENT) >> 16 is v // 10**6 or one less for every v < 2**31: its error stays below 0.53.
QUOTIENT = 2147
# floor(2**51 / 10**6) divides a 31-bit number by 10**6 / 2**j, to one less at most, with a shift of 51 - j.
RECIPROCAL = 2_251_799_813
# 2**64 over the golden ratio: the multiplier of Fibonacci hashing.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LN_2_HIGH, LN_2_LOW, LOG2_E = np.float32(0.693359375), np.float32(-2.12194440e-4), np.float32(1.44269504)
HALF, ONE, TWO, FOUR, LOWEST, HIGHEST = (np.float32(value) for value in (0.5, 1, 2, 4, -87, 20))
C7, C6, C5, C4, C3 = (np.float32(1 / math.factorial(power)) for power in (7, 6, 5, 4, 3))
LANES = 16
ROWS = 3

# Unsigned twins: shifts of signed numbers are slow, and numba makes floats of mixed arithmetic.
U1, U9, U20, U30, U31, U41, U42, U61 = (np.uint64(bits) for bits in (1, 9, 20, 30, 31, 41, 42, 61))
U_LOW_30, U_LOW_31, U_P61 = np.uint64(2**30 - 1), np.uint64(2**31 - 1), np.uint64(P61)
U_MODULUS, U_RECIPROCAL = np.uint64(MODULUS), np.uint64(RECIPROCAL)

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]

I16, I32, I64, F32 = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
# Of four hashes in a row, two come from the first vector of products and two from the second: one shuffle per half.
COLUMNS = np.array([j for j in range(LANES) if j % 4 < 2] + [j for j in range(LANES) if j % 4 >= 2])
LOW_HALVES = [half + vector for g in range(0, LANES, 4) for vector in (g, LANES + g) for half in (0, 2)]


def _constant(element: ir.Type, value: int, lanes: int = LANES) -> ir.Constant:
    return ir.Constant(ir.VectorType(element, lanes), [value] * lanes)


def _load(b: ir.IRBuilder, array: Any, index: ir.Value) -> ir.Value:
    pointer = b.bitcast(b.gep(array.data, [index]), ir.VectorType(I64, LANES // 2).as_pointer())
    return b.load(pointer, align=8)


def _splat(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    one = b.insert_element(undefined, value, ir.Constant(I32, 0))
    return b.shuffle_vector(one, undefined, _constant(I32, 0))


def _shuffle(b: ir.IRBuilder, pair: tuple[ir.Value, ir.Value], lanes: list[int]) -> ir.Value:
    return b.shuffle_vector(*pair, ir.Constant(ir.VectorType(I32, LANES), lanes))


def _subtract_where_not_less(b: ir.IRBuilder, value: ir.Value, subtrahend: int) -> ir.Value:
    less = b.sub(value, _constant(I32, subtrahend))
    return b.select(b.icmp_unsigned("<", value, less), value, less)


def _high_product_16(b: ir.IRBuilder, value: ir.Value, factor: int) -> ir.Value:
    """(value * factor) >> 16 of numbers below 2**16, as one instruction on x86."""
    halves, wide = ir.VectorType(I16, 2 * LANES), ir.VectorType(I32, 2 * LANES)
    pair = [b.zext(b.bitcast(v, halves), wide) for v in (value, _constant(I32, factor))]
    high = b.lshr(b.mul(*pair), _constant(I32, 16, 2 * LANES))
    return b.bitcast(b.trunc(high, halves), ir.VectorType(I32, LANES))


def _hashes(b: ir.IRBuilder, products: list[tuple[ir.Value, ir.Value]]) -> list[ir.Value]:
    """Rows of products P to rows of hashes, one operation after the other for all rows."""
    pairs = [(b.bitcast(p, ir.VectorType(I32, LANES)), b.bitcast(q, ir.VectorType(I32, LANES))) for p, q in products]
    low = [b.lshr(_shuffle(b, pair, LOW_HALVES), _constant(I32, 1)) for pair in pairs]
    high = [_shuffle(b, pair, [lane + 1 for lane in LOW_HALVES]) for pair in pairs]
    sums = [b.add(h, lo) for h, lo in zip(high, low, strict=True)]
    modular = [_subtract_where_not_less(b, s, P31) for s in sums]
    quotients = [b.lshr(v, _constant(I32, 15)) for v in modular]
    quotients = [_high_product_16(b, q, QUOTIENT) for q in quotients]
    multiples = [b.mul(q, _constant(I32, MODULUS)) for q in quotients]
    rest = [b.sub(v, m) for v, m in zip(modular, multiples, strict=True)]
    return [_subtract_where_not_less(b, r, MODULUS) for r in rest]


def _encode_block(rows: int) -> Any:
    """An intrinsic for `rows` rows x LANES columns, from ids [N] uint32 and coefficients as `_arranged` gives them."""

    def encode_block(
        _: Any, ids: Any, a: Any, b: Any, i: Any, j: Any, scale: Any, shift: Any, out: Any
    ) -> tuple[Any, Any]:
        signature = types.void(ids, a, b, i, j, scale, shift, out)
        return signature, _generate

    def _generate(context: Any, b: ir.IRBuilder, signature: Any, values: Any) -> ir.Value:
        ids_N, a_K, b_K, out_NK = (
            context.make_array(signature.args[place])(context, b, values[place]) for place in (0, 1, 2, 7)
        )
        i, j, scale, shift = values[3:7]
        low_words = _constant(I64, LOW_32, LANES // 2)
        second = b.add(j, ir.Constant(I64, LANES // 2))
        a_1, a_2 = (b.and_(_load(b, a_K, place), low_words) for place in (j, second))
        b_1, b_2 = (_load(b, b_K, place) for place in (j, second))
        places = [b.add(i, ir.Constant(I64, row)) for row in range(rows)]
        words = [_splat(b, b.load(b.gep(ids_N.data, [place]))) for place in places]
        x = [b.and_(b.bitcast(word, low_words.type), low_words) for word in words]
        products = [(b.mul(a_1, x_1), b.mul(a_2, x_1)) for x_1 in x]
        hashes = _hashes(b, [(b.add(p, b_1), b.add(q, b_2)) for p, q in products])
        scaled = [b.fmul(b.sitofp(h, ir.VectorType(F32, LANES)), _splat(b, scale)) for h in hashes]
        width = b.extract_value(out_NK.shape, 1)
        for place, row in zip(places, [b.fadd(s, _splat(b, shift)) for s in scaled], strict=True):
            pointer = b.gep(out_NK.data, [b.add(b.mul(place, width), j)])
            b.store(row, b.bitcast(pointer, row.type.as_pointer()), align=4)
        return context.get_dummy_value()

    return intrinsic(encode_block)


_encode_rows = _encode_block(ROWS)
_encode_row = _encode_block(1)


@numba.njit(nogil=True, cache=True, boundscheck=False)
def _arranged(coefficients_K: Ids) -> Ids:
    """Twice the coefficients of each block of LANES columns, those of its first vector of products first."""
    arranged_K = np.empty_like(coefficients_K)
    for j in range(0, coefficients_K.shape[0] - LANES + 1, LANES):
        for lane in range(LANES):
            arranged_K[j + lane] = 2 * coefficients_K[j + COLUMNS[lane]]
    return arranged_K


@numba.njit(nogil=True, cache=True, boundscheck=False)
def encode_31(ids_N: Ids, a_K: Ids, b_K: Ids, scale: np.float32, shift: np.float32, out_NK: Floats) -> None:
    """Modulo p = 2**31 - 1, for ids below p and C-contiguous arrays."""
    count, k = ids_N.shape[0], a_K.shape[0]
    words_N = ids_N.astype(np.uint32)
    twice_a_K, twice_b_K = _arranged(a_K), _arranged(b_K)
    in_vectors = k - k % LANES
    in_groups = count - count % ROWS
    for i in range(0, in_groups, ROWS):
        for j in range(0, in_vectors, LANES):
            _encode_rows(words_N, twice_a_K, twice_b_K, i, j, scale, shift, out_NK)
    for i in range(in_groups, count):
        for j in range(0, in_vectors, LANES):
            _encode_row(words_N, twice_a_K, twice_b_K, i, j, scale, shift, out_NK)
    for i in range(count):
        for j in range(in_vectors, k):
            hashed = (a_K[j] * ids_N[i] + b_K[j]) % P31 % MODULUS
            out_NK[i, j] = np.float32(hashed) * scale + shift


@numba.njit(nogil=True, cache=True, boundscheck=False)
def encode_61(ids_N: Ids, a_K: Ids, b_K: Ids, scale: np.float32, shift: np.float32, out_NK: Floats) -> None:
    """Modulo p = 2**61 - 1, for ids below p, from 31-bit limbs (`hashing.multiply_add_61` gives the derivation).

    The remainder by 1,000,000 takes two quotients, of 31-bit numbers each: first by 1,000,000 * 2**20.
    Unsigned numbers and masks tell the compiler which shifts and 32-bit multiplications do.
    """
    for i in range(ids_N.shape[0]):
        x = np.uint64(ids_N[i])
        x_high, x_low = (x >> U31) & U_LOW_30, x & U_LOW_31
        for j in range(a_K.shape[0]):
            a, b = np.uint64(a_K[j]), np.uint64(b_K[j])
            a_high, a_low = (a >> U31) & U_LOW_30, a & U_LOW_31
            middle = a_high * x_low + a_low * x_high
            low = a_low * x_low
            v = a_high * (x_high << U1) + (middle >> U30) + ((middle & U_LOW_30) << U31) + (low & U_P61) + (low >> U61)
            v = (v & U_P61) + (v >> U61) + b
            v = (v & U_P61) + (v >> U61)
            v = v - U_P61 if v >= U_P61 else v
            v -= (((((v >> U30) & U_LOW_31) * U_RECIPROCAL) >> U41) * U_MODULUS) << U20
            v -= ((((v >> U9) & U_LOW_31) * U_RECIPROCAL) >> U42) * U_MODULUS
            v = v - U_MODULUS if v >= U_MODULUS else v
            out_NK[i, j] = np.float32(np.int32(v)) * scale + shift


@numba.njit(nogil=True, cache=True, boundscheck=False)
def first_outside(ids_N: Ids, cardinality: int) -> int:
    """The position of the first id outside [0, cardinality), or -1."""
    outside = 0
    for i in range(ids_N.shape[0]):
        outside += (ids_N[i] < 0) | (ids_N[i] >= cardinality)
    if outside == 0:
        return -1
    i = 0
    while 0 <= ids_N[i] < cardinality:
        i += 1
    return i


@numba.njit(nogil=True, cache=True, boundscheck=False)
def distinct(ids_N: Ids) -> tuple[Ids, Ids]:
    """The distinct ids in the order of their first places, and the place of each id among them.

    A table of open addresses, at most half full: multiplicative hashing, linear probing.
    """
    bits = 1
    while (1 << bits) < 2 * ids_N.shape[0]:
        bits += 1
    down, mask = np.uint64(64 - bits), (1 << bits) - 1
    slots = np.full(1 << bits, -1, dtype=np.int64)
    distinct_U, inverse_N = np.empty_like(ids_N), np.empty_like(ids_N)
    found = 0
    for i in range(ids_N.shape[0]):
        slot = np.int64((np.uint64(ids_N[i]) * GOLDEN) >> down)
        while slots[slot] >= 0 and distinct_U[slots[slot]] != ids_N[i]:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = found
            distinct_U[found] = ids_N[i]
            found += 1
        inverse_N[i] = slots[slot]
    return distinct_U[:found], inverse_N


@intrinsic
def _power_of_two(_: Any, exponent: Any) -> tuple[Any, Any]:
    """2**exponent of a whole float32 in [-126, 127], from the bits of the result."""

    def generate(__: Any, b: ir.IRBuilder, ___: Any, values: Any) -> ir.Value:
        biased = b.add(b.fptosi(values[0], I32), ir.Constant(I32, 127))
        return b.bitcast(b.shl(biased, ir.Constant(I32, 23)), F32)

    return types.float32(exponent), generate


@numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})
def _exponential(x: np.float32) -> np.float32:
    """exp(x) to 2e-7 relative for x in [-87, 20]; beyond, that of the nearer end (and of NaN, that of 20).

    x = n ln 2 + r with |r| <= ln 2 / 2, a Taylor polynomial in r, and the bits of 2**n.
    """
    x = x if x < HIGHEST else HIGHEST  # noqa: FURB136 (NaN ends as HIGHEST, and the loop stays free of branches)
    x = x if x > LOWEST else LOWEST  # noqa: FURB136 (as above)
    n = np.floor(x * LOG2_E + HALF)
    r = (x - n * LN_2_HIGH) - n * LN_2_LOW
    p = C7
    for c in (C6, C5, C4, C3, HALF, ONE, ONE):
        p = p * r + c
    return p * _power_of_two(n)  # type: ignore[call-arg]  # numba passes the typing context


@numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})
def mish(x_N: Floats, out_N: Floats) -> None:
    """Mish(x) = x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2); `out_N` may be `x_N`."""
    for i in range(x_N.shape[0]):
        e = _exponential(x_N[i])
        n = e * (e + TWO)
        out_N[i] = x_N[i] * (n / (n + TWO))


@numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})
def mish_gradient(x_N: Floats, gradient_N: Floats, out_N: Floats) -> None:
    """Times Mish's derivative n / (n + 2) + 4 x e^x (e^x + 1) / (n + 2)**2, n as in `mish`."""
    for i in range(x_N.shape[0]):
        e = _exponential(x_N[i])
        n = e * (e + TWO)
        over = ONE / (n + TWO)
        out_N[i] = gradient_N[i] * (n * over + FOUR * x_N[i] * (e * over) * ((e + ONE) * over))
