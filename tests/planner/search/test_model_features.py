import numpy as np

from planner.cost_model.candidates import candidates_of
from planner.search.model_features import FEATURE_NAMES, accuracy_features
from planner.search.scaling import Scaling
from planner.search.space import enumerate_choices
from tests.planner.search.closed_form import SMALL_SPACE, make_task

MODELS = [make_task().candidate(choices).model for choices in enumerate_choices(SMALL_SPACE)]


def column(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = accuracy_features(candidates_of(MODELS))[
        :, FEATURE_NAMES.index(name)
    ]
    return values


def test_kinds_are_shares_of_the_features_and_of_their_rows() -> None:
    tables = column("table, mean over features")
    assert set(np.unique(tables[[m.representation == "table" for m in MODELS]])) == {1.0}
    selects = [m.representation == "select" for m in MODELS]
    np.testing.assert_allclose(tables[selects], 1 / 3)
    np.testing.assert_allclose(column("dhe, mean over rows")[selects], 4300 / 4314)


def test_sizes_are_logarithms() -> None:
    width = column("log2 width, mean over features")
    np.testing.assert_allclose(width, [np.log2(1 + model.embeddings[0].width) for model in MODELS])


def test_columns_that_say_nothing_new_are_left_out() -> None:
    features = np.column_stack((np.arange(5.0), np.ones(5), -2 * np.arange(5.0), np.array([1.0, 0, 0, 1, 0])))
    scaling = Scaling.of(features)
    assert scaling.kept_S.tolist() == [0, 3]
    np.testing.assert_allclose(scaling.apply(features).std(axis=0), 1.0)


def test_equal_candidates_have_one_column_of_zeros() -> None:
    assert Scaling.of(np.ones((3, 2))).apply(np.ones((3, 2))).tolist() == [[0.0]] * 3
