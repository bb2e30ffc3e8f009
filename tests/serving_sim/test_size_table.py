import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving_sim.kernels import draws
from serving_sim.size_table import lognormal_table

tables = st.tuples(st.floats(-3, 9), st.floats(0.02, 6), st.sampled_from([1, 2, 64, 4096]))


@given(shape=tables, words=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_a_word_gives_the_least_size_with_no_more_above_it(shape: tuple[float, float, int], words: list[int]) -> None:
    table, word_N, size_N = (
        lognormal_table(*shape),
        np.array(words, dtype=np.uint64),
        np.empty((2, len(words)), np.int64),
    )
    draws.look_up_sizes(word_N, table.above_S, table.last_G, 50, size_N[0])
    draws.look_up_sizes.py_func(word_N, table.above_S, table.last_G, 50, size_N[1])
    expected = [next(size for size in range(1, shape[2] + 1) if word >= int(table.above_S[size])) for word in words]
    assert size_N[0].tolist() == size_N[1].tolist() == expected


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
def test_each_size_is_as_likely_as_the_lognormal_between_its_halves(sigma: float) -> None:
    table = lognormal_table(4.0, sigma, 600)
    shares = np.append(table.above_S[:-1], np.uint64(0)).astype(np.float64)[1:] * 2.0**-64
    expected = [math.erfc((math.log(size + 0.5) - 4.0) / sigma / math.sqrt(2)) / 2 for size in range(1, 600)]
    np.testing.assert_allclose(shares[:599], expected, atol=1e-15)
    plain = np.empty_like(table.above_S)
    draws.fill_lognormal_tail.py_func(4.0, sigma, plain)
    np.testing.assert_allclose(plain.astype(np.float64), table.above_S.astype(np.float64), rtol=1e-12)


def test_drawn_sizes_are_spread_as_the_table_says() -> None:
    table, rng = lognormal_table(2.0, 0.8, 40), np.random.default_rng(0)
    counts = np.bincount(table.draw(rng, 400_000), minlength=41)[1:]
    expected = -np.diff(table.above_S.astype(np.float64)) * 2.0**-64 * 400_000
    expected[0] = 400_000 - table.above_S.astype(np.float64)[1] * 2.0**-64 * 400_000
    assert counts.sum() == 400_000
    # Chi-squared of 39 degrees of freedom: mean 39, standard deviation 8.8.
    assert ((counts - expected) ** 2 / expected).sum() < 39 + 4 * 8.8


def test_python_sums_the_mean_as_the_compiled_code_does() -> None:
    for shape in ((3.0, 1.0, 64), (5.0, 0.7, 4096), (-2.0, 3.0, 1)):
        with pytest.MonkeyPatch.context() as patch:
            for name in ("_mean_below", "_share_above"):
                patch.setattr(draws, name, getattr(draws, name).py_func)
            plain = draws.lognormal_mean.py_func(*shape)
        assert draws.lognormal_mean(*shape) == pytest.approx(plain, rel=1e-12)
