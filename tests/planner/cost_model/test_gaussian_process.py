import numpy as np
import pytest
from numpy.typing import NDArray

from planner.cost_model.gaussian_process import ProcessKernel, fit_kernel, kernel_weights

Arrays = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
NOISE = 0.05


@pytest.fixture(scope="module")
def rows() -> Arrays:
    """Features, of which the last does not matter, targets, and each row's known variance."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 3))
    target = np.sin(features[:, 0]) + 0.3 * features[:, 1] + rng.normal(0, NOISE, 80)
    return features, target - target.mean(), np.where(np.arange(80) % 5 == 0, 0.01, 1e-10)


def mean_of(kernel: ProcessKernel, rows: Arrays, asked: NDArray[np.float64]) -> NDArray[np.float64]:
    features, target, variance = rows
    distances = (((asked[:, None] - features) / kernel.lengths_D) ** 2).sum(axis=2)
    mean: NDArray[np.float64] = np.exp(-0.5 * distances) @ kernel_weights(kernel, features, target, variance)
    return mean


def test_the_mean_is_that_of_scikit_learn_s_process(rows: Arrays) -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    features, target, variance = rows
    kernel = fit_kernel(*rows)
    same = ConstantKernel(kernel.signal) * RBF(kernel.lengths_D) + WhiteKernel(kernel.noise)
    process = GaussianProcessRegressor(same, optimizer=None, alpha=variance).fit(features, target)
    asked = np.random.default_rng(1).normal(size=(20, 3))
    np.testing.assert_allclose(mean_of(kernel, rows, asked), process.predict(asked), rtol=1e-6, atol=1e-9)


def test_few_steps_find_nearly_the_likelihood_that_many_of_scikit_learn_s_do(rows: Arrays) -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    features, target, variance = rows
    start = ConstantKernel(0.1) * RBF([2.0] * 3, (0.1, 1e9)) + WhiteKernel(1e-2)
    process = GaussianProcessRegressor(start, alpha=variance).fit(features, target)
    kernel = fit_kernel(*rows)
    ours = np.log([kernel.signal, *kernel.lengths_D, kernel.noise])
    assert process.log_marginal_likelihood(ours) > process.log_marginal_likelihood_value_ - 2


def test_a_feature_that_does_not_matter_has_a_long_length(rows: Arrays) -> None:
    kernel = fit_kernel(*rows)
    assert kernel.lengths_D[2] > 5 * kernel.lengths_D[0]
    assert kernel.noise == pytest.approx(NOISE**2, rel=0.5)


def test_equal_rows_and_targets_without_variance_are_borne() -> None:
    features, target = np.zeros((9, 2)), np.zeros(9)
    kernel = fit_kernel(features, target, np.full(9, 1e-10))
    assert np.isfinite(kernel_weights(kernel, features, target, np.full(9, 1e-10))).all()
