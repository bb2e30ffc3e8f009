from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from representations.dhe.kernels import MODULUS, P31, P61, encode_31, encode_61

UNSCALED = (np.float32(1), np.float32(0))


def check(encode: Callable[..., None], prime: int, ids: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, prime, 5), rng.integers(0, prime, 5)
    a[0], b[0] = prime - 1, prime - 1
    out = np.empty((len(ids), 5), dtype=np.float32)
    encode(np.array(ids), a, b, *UNSCALED, out)
    wanted = [[(int(p) * x + int(q)) % prime % MODULUS for p, q in zip(a, b, strict=True)] for x in ids]
    assert out.astype(np.int64).tolist() == wanted


@given(ids=st.lists(st.integers(0, P31 - 1), min_size=1, max_size=30), seed=st.integers(0, 10**6))
def test_the_compiled_small_prime_equals_plain_integers(ids: list[int], seed: int) -> None:
    check(encode_31, P31, [*ids, 0, P31 - 1], seed)


@given(ids=st.lists(st.integers(0, P61 - 1), min_size=1, max_size=30), seed=st.integers(0, 10**6))
def test_the_compiled_large_prime_equals_plain_integers(ids: list[int], seed: int) -> None:
    check(encode_61, P61, [*ids, 0, P61 - 1, 2**40], seed)


@pytest.mark.parametrize(("kernel", "prime"), [(encode_31, P31), (encode_61, P61)])
def test_the_source_means_the_same_uncompiled(kernel: Any, prime: int) -> None:
    check(kernel.py_func, prime, [0, 1, 12345, prime - 1], seed=3)


@given(v=st.integers(0, P31))
def test_the_reciprocal_divides_exactly(v: int) -> None:
    from representations.dhe.kernels import RECIPROCAL, SHIFT

    for value in (v, v - v % MODULUS, max(0, v - v % MODULUS - 1), P31):
        assert (value * RECIPROCAL) >> SHIFT == value // MODULUS
