from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from representations.dhe import kernels
from representations.dhe.kernels import LANES, MODULUS, P31, P61, QUOTIENT, ROWS, encode_31, encode_61

UNSCALED = (np.float32(1), np.float32(0))
# Whole vectors, a part of one, and both; every remainder of rows occurs by itself.
WIDTHS = st.sampled_from([5, LANES, 2 * LANES + 3])
BOTH = pytest.mark.parametrize(("encode", "prime"), [(encode_31, P31), (encode_61, P61)])


def check(encode: Callable[..., None], ids: list[int], a: list[int], b: list[int], prime: int) -> None:
    out = np.empty((len(ids), len(a)), dtype=np.float32)
    encode(np.array(ids), np.array(a), np.array(b), *UNSCALED, out)
    wanted = [[(p * x + q) % prime % MODULUS for p, q in zip(a, b, strict=True)] for x in ids]
    assert out.astype(np.int64).tolist() == wanted


def check_drawn(encode: Callable[..., None], ids: list[int], k: int, seed: int, prime: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, prime, k).tolist(), rng.integers(0, prime, k).tolist()
    check(encode, ids, [prime - 1, *a[1:]], [prime - 1, *b[1:]], prime)


@given(ids=st.lists(st.integers(0, P31 - 1), min_size=1, max_size=3 * ROWS), k=WIDTHS, seed=st.integers(0, 10**6))
def test_the_small_prime_equals_plain_integers(ids: list[int], k: int, seed: int) -> None:
    check_drawn(encode_31, [*ids, 0, P31 - 1], k, seed, P31)


@given(ids=st.lists(st.integers(0, P61 - 1), min_size=1, max_size=9), k=WIDTHS, seed=st.integers(0, 10**6))
def test_the_large_prime_equals_plain_integers(ids: list[int], k: int, seed: int) -> None:
    check_drawn(encode_61, [*ids, 0, P61 - 1, 2**40], k, seed, P61)


@BOTH
@given(data=st.data())
def test_numbers_beside_multiples_of_the_modulus_are_divided_exactly(
    encode: Callable[..., None], prime: int, data: st.DataObject
) -> None:
    step = data.draw(st.sampled_from([MODULUS, MODULUS << 20] if prime == P61 else [MODULUS]))
    multiple = step * data.draw(st.integers(1, (prime - 1) // step))
    check(encode, [multiple - 1, multiple, multiple + 1, prime - 1], [1] * LANES, [0] * LANES, prime)


def test_the_short_quotient_is_at_most_one_too_small() -> None:
    multiples = np.arange(0, P31, MODULUS)
    for v in (multiples, multiples[1:] - 1):
        assert set((v // MODULUS - (((v >> 15) * QUOTIENT) >> 16)).tolist()) <= {0, 1}


def test_the_large_prime_means_the_same_uncompiled() -> None:
    check_drawn(encode_61.py_func, [0, 1, 12345, 2**40, P61 - 1], 5, 3, P61)


def test_the_vectors_are_built_anew_where_no_cache_is() -> None:
    compiled: Any = numba.njit(encode_31.py_func)
    check_drawn(compiled, [0, 1, 12345, P31 - 1], LANES, 3, P31)


@given(ids=st.lists(st.integers(0, 50) | st.integers(0, 2**62), max_size=60))
def test_distinct_ids_and_their_places(ids: list[int]) -> None:
    plain: Any = kernels.distinct
    with np.errstate(over="ignore"):
        found = [function(np.array(ids, dtype=np.int64)) for function in (plain, plain.py_func)]
    for distinct, inverse in found:
        assert distinct.tolist() == list(dict.fromkeys(ids))
        assert distinct[inverse].tolist() == ids


@pytest.mark.parametrize(("ids", "place"), [([], -1), ([0, 9], -1), ([3, 10, -1], 1), ([-1], 0)])
@pytest.mark.parametrize("function", [kernels.first_outside, kernels.first_outside.py_func])
def test_the_first_id_outside(ids: list[int], place: int, function: Any) -> None:
    assert function(np.array(ids, dtype=np.int64), 10) == place


@pytest.mark.parametrize("compiled", [True, False])
def test_mish_and_its_derivative(compiled: bool) -> None:
    x = np.concatenate([np.linspace(-80, 60, 501), [np.nan]]).astype(np.float32)
    exact = torch.tensor(x.astype(np.float64), requires_grad=True)
    wanted = functional.mish(exact)
    torch.autograd.backward(wanted.nansum())
    values, gradients = np.empty_like(x), np.empty_like(x)
    for kernel, arguments in ((kernels.mish, (x, values)), (kernels.mish_gradient, (x, np.full_like(x, 2), gradients))):
        (kernel if compiled else kernel.py_func)(*arguments)
    np.testing.assert_allclose(values, wanted.detach().numpy(), rtol=5e-7)
    assert exact.grad is not None
    np.testing.assert_allclose(gradients[:-1], 2 * exact.grad.numpy()[:-1], rtol=3e-6, atol=1e-6)
