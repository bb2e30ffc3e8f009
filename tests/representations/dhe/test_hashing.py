import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from profiles.errors import InputError
from representations.dhe.hashing import HASH_MODULUS, P31, P61, draw_coefficients, hash_ids, prime_for


def plain_hashes(ids: list[int], a: list[int], b: list[int], prime: int) -> list[list[int]]:
    return [[(a_j * x + b_j) % prime % HASH_MODULUS for a_j, b_j in zip(a, b, strict=True)] for x in ids]


def hashes(ids: list[int], cardinality: int, k: int = 6, seed: int = 0) -> torch.Tensor:
    drawn = draw_coefficients(k, cardinality, seed)
    return hash_ids(torch.tensor(ids), torch.tensor(drawn.a_K), torch.tensor(drawn.b_K), drawn.prime)


@given(ids=st.lists(st.integers(0, P31 - 1), min_size=1, max_size=20), seed=st.integers(0, 10**6))
def test_small_prime_hashes_equal_plain_integers(ids: list[int], seed: int) -> None:
    drawn = draw_coefficients(6, P31, seed)
    assert drawn.prime == P31
    assert hashes(ids, P31, seed=seed).tolist() == plain_hashes(ids, drawn.a_K.tolist(), drawn.b_K.tolist(), P31)


@given(ids=st.lists(st.integers(0, 2**40), min_size=1, max_size=20), seed=st.integers(0, 10**6))
def test_large_prime_hashes_equal_plain_integers(ids: list[int], seed: int) -> None:
    drawn = draw_coefficients(6, 2**40 + 1, seed)
    assert drawn.prime == P61
    assert hashes(ids, 2**40 + 1, seed=seed).tolist() == plain_hashes(ids, drawn.a_K.tolist(), drawn.b_K.tolist(), P61)


@pytest.mark.parametrize("prime", [P31, P61])
def test_extreme_coefficients_do_not_overflow(prime: int) -> None:
    ids, a, b = [0, 1, prime - 2, prime - 1], [1, prime - 1, prime - 1, 1], [0, prime - 1, 0, prime - 1]
    got = hash_ids(torch.tensor(ids), torch.tensor(a), torch.tensor(b), prime)
    assert got.tolist() == plain_hashes(ids, a, b, prime)


@given(x=st.integers(0, 10**7))
def test_ids_a_small_prime_apart_stay_distinct(x: int) -> None:
    first, second = hashes([x, x + 1_000_003], 20_000_000, k=8)
    assert not torch.equal(first, second)


def test_the_prime_exceeds_every_id() -> None:
    assert [prime_for(c) for c in (1, P31, P31 + 1, P61)] == [P31, P31, P61, P61]
    with pytest.raises(InputError, match="cardinality must be <= 2"):
        prime_for(P61 + 1)


def test_coefficients_follow_the_seed() -> None:
    first, again, other = (draw_coefficients(100, 10, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.a_K, again.a_K)
    assert not np.array_equal(first.a_K, other.a_K)
    assert first.a_K.min() >= 1
    assert first.b_K.min() >= 0
