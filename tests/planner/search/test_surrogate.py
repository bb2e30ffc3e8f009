import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import check_grad

from planner.search.surrogate import Observations, fit_surrogate, negative_log_posterior, prior_parameters
from profiles.errors import InputError

Floats = NDArray[np.float64]


def landscape(features_NX: Floats) -> Floats:
    """One column matters much, one a little, the others not at all."""
    return np.asarray(0.8 - 0.05 * features_NX[:, 0] + 0.02 * np.sin(features_NX[:, 1]))


def observe(count: int, *, columns: int = 5, seed: int = 0, noise: float = 0.0) -> Observations:
    rng = np.random.default_rng(seed)
    features_OX = rng.normal(size=(count, columns))
    value_O = landscape(features_OX) + noise * rng.normal(size=count)
    return Observations(features_OX=features_OX, candidate_O=np.arange(count), share_O=np.ones(count), value_O=value_O)


def with_rungs(seen: Observations) -> Observations:
    """Each candidate also at a tenth of its training, where all score lower, and some more than others."""
    early_O = seen.value_O - 0.1 + 0.02 * seen.features_OX[:, 2]
    return Observations(
        features_OX=np.vstack((seen.features_OX, seen.features_OX)),
        candidate_O=np.concatenate((seen.candidate_O, seen.candidate_O)),
        share_O=np.concatenate((seen.share_O, np.full(len(seen.share_O), 0.1))),
        value_O=np.concatenate((seen.value_O, early_O)),
    )


def test_the_gradient_is_that_of_the_loss() -> None:
    seen = with_rungs(observe(12, columns=3, noise=0.01))
    theta_P = prior_parameters(3) + np.random.default_rng(2).normal(scale=0.3, size=7)
    error = check_grad(
        lambda t: negative_log_posterior(t, seen)[0], lambda t: negative_log_posterior(t, seen)[1], theta_P
    )
    assert error < 1e-4


def test_unseen_candidates_are_predicted_within_the_stated_uncertainty() -> None:
    surrogate = fit_surrogate(observe(60, noise=0.003))
    new_NX = np.random.default_rng(5).normal(size=(200, 5))
    mean_N, std_N = surrogate.predict(new_NX)
    errors = (mean_N - landscape(new_NX)) / std_N
    assert np.corrcoef(mean_N, landscape(new_NX))[0, 1] > 0.95
    assert (np.abs(errors) < 2).mean() > 0.85


def test_early_scores_tell_of_final_ones() -> None:
    begun, finished = with_rungs(observe(40)), 8
    early = Observations(
        features_OX=np.delete(begun.features_OX, np.s_[finished:40], axis=0),
        candidate_O=np.delete(begun.candidate_O, np.s_[finished:40]),
        share_O=np.delete(begun.share_O, np.s_[finished:40]),
        value_O=np.delete(begun.value_O, np.s_[finished:40]),
    )
    rest = np.arange(finished, 40)
    mean_N, _ = fit_surrogate(early).predict(begun.features_OX[rest], rest)
    few, _ = fit_surrogate(observe_first(begun, finished)).predict(begun.features_OX[rest], rest)
    truth_N = begun.value_O[rest]
    assert np.abs(mean_N - truth_N).mean() < 0.5 * np.abs(few - truth_N).mean()


def test_scores_that_rise_late_are_not_given_up_for_others_early_ones() -> None:
    """Half of the candidates look alike until a third of their training, and end better than the others."""
    rng = np.random.default_rng(3)
    features_OX = np.column_stack((rng.integers(0, 2, 24) * 2.0 - 1, rng.normal(size=24)))
    is_late_O = features_OX[:, 0] > 0
    final_O = np.where(is_late_O, 0.2, 0.25) + 0.01 * features_OX[:, 1]
    early_O, whole = np.where(is_late_O, 0.5, 0.3), np.array([0, 1, 2, *np.flatnonzero(is_late_O)[:2]])
    seen = Observations(
        features_OX=np.vstack((features_OX, features_OX[whole])),
        candidate_O=np.concatenate((np.arange(24), whole)),
        share_O=np.concatenate((np.full(24, 1 / 9), np.ones(len(whole)))),
        value_O=np.concatenate((early_O, final_O[whole])),
    )
    mean_N, _ = fit_surrogate(seen).predict(features_OX, np.arange(24))
    assert mean_N[is_late_O].mean() < mean_N[~is_late_O].mean() - 0.02


def observe_first(seen: Observations, count: int) -> Observations:
    return Observations(
        features_OX=seen.features_OX[:count],
        candidate_O=seen.candidate_O[:count],
        share_O=seen.share_O[:count],
        value_O=seen.value_O[:count],
    )


def test_a_begun_candidate_is_known_by_its_own_score_and_its_twin_by_the_features() -> None:
    seen = observe(30, noise=0.05)
    twin_NX = np.repeat(seen.features_OX[:1], 2, axis=0)
    mean_N, _ = fit_surrogate(seen).predict(twin_NX, np.array([0, 99]))
    assert abs(mean_N[0] - seen.value_O[0]) < abs(mean_N[1] - seen.value_O[0])


def test_a_candidate_among_known_ones_leaves_little_to_learn() -> None:
    surrogate = fit_surrogate(observe(60, noise=0.003))
    _, std_N, chance = surrogate.predict_apart(np.array([[0.0] * 5, [9.0] * 5]))
    assert std_N[0] < 0.5 * std_N[1]
    assert 0.001 < chance < 0.02


def test_equal_values_say_so() -> None:
    flat = observe(4)
    seen = Observations(
        features_OX=flat.features_OX, candidate_O=flat.candidate_O, share_O=flat.share_O, value_O=np.full(4, 0.7)
    )
    mean_N, std_N = fit_surrogate(seen).predict(flat.features_OX)
    np.testing.assert_allclose(mean_N, 0.7)
    assert np.isfinite(std_N).all()


@pytest.mark.parametrize("change", ["nan", "short", "share"])
def test_bad_observations_are_refused(change: str) -> None:
    value_O = np.array([0.5, np.nan]) if change == "nan" else np.full(2, 0.5)
    share_O = np.array([0.0, 1.0]) if change == "share" else np.ones(2)
    with pytest.raises(InputError, match="observations"):
        Observations(
            features_OX=np.zeros((1 if change == "short" else 2, 1)),
            candidate_O=np.arange(2),
            share_O=share_O,
            value_O=value_O,
        )
