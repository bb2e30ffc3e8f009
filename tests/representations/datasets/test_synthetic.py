from pathlib import Path

import numpy as np
import pytest

from profiles.errors import InputError, UnknownNameError
from representations.datasets import SyntheticSpec, load_dataset, make_synthetic, zipf_exponents
from representations.metrics import score
from representations.specs import Feature


def test_equal_seeds_give_equal_data() -> None:
    first, again, other = (make_synthetic(SyntheticSpec(), 200, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.dataset.ids_NS, again.dataset.ids_NS)
    assert np.array_equal(first.dataset.labels_N, again.dataset.labels_N)
    assert not np.array_equal(first.probabilities_N, other.probabilities_N)


def test_labels_follow_the_known_probabilities() -> None:
    data = make_synthetic(SyntheticSpec(), 50_000)
    assert data.dataset.positive_rate == pytest.approx(data.probabilities_N.mean(), abs=0.01)
    best = score(data.dataset.labels_N, data.probabilities_N)
    entropy = -np.mean(
        data.probabilities_N * np.log(data.probabilities_N)
        + (1 - data.probabilities_N) * np.log(1 - data.probabilities_N)
    )
    assert best.log_loss == pytest.approx(entropy, abs=0.01)
    assert 0.7 < best.auc < 0.9


def test_without_effects_nothing_can_be_learned() -> None:
    spec = SyntheticSpec(effect_scale=0, interaction_scale=0, dense_scale=0)
    assert np.ptp(make_synthetic(spec, 100).probabilities_N) < 1e-12


def test_ids_have_the_asked_skew_and_never_0() -> None:
    data = load_dataset("synthetic", features=["item", "user"], rows=30_000)
    assert [feature.name for feature in data.features] == ["item", "user"]
    assert data.ids_NS.min() == 1
    assert zipf_exponents(data)["item"] == pytest.approx(1.0, abs=0.11)


def test_bad_requests_say_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="synthetic: is generated and reads no file"):
        load_dataset("synthetic", tmp_path)
    with pytest.raises(UnknownNameError, match="data source: unknown name 'flight'"):
        load_dataset("flight")
    with pytest.raises(InputError, match="zipf must be >= 0, but got -1"):
        SyntheticSpec(zipf=-1)
    with pytest.raises(InputError, match="every cardinality must be >= 2"):
        SyntheticSpec(features=(Feature(name="a", cardinality=1),))
    with pytest.raises(InputError, match="rank must be >= 1, but got 0"):
        SyntheticSpec(rank=0)
    with pytest.raises(InputError, match="needs at least one feature"):
        SyntheticSpec(features=())
    with pytest.raises(InputError, match="rows: must be >= 1, but got -1"):
        make_synthetic(SyntheticSpec(), -1)
    with pytest.raises(InputError, match="seed: must be >= 0, but got -1"):
        make_synthetic(SyntheticSpec(), 1, seed=-1)


@pytest.mark.parametrize("source", ["synthetic", "flights"])
def test_a_share_of_bad_rows_is_refused_where_none_are_left_out(source: str) -> None:
    with pytest.raises(InputError, match=rf"data\.max_bad_share: must be 0 for {source}.* but got 2"):
        load_dataset(source, max_bad_share=2)


def test_multi_hot_features_have_bags_of_the_asked_size() -> None:
    spec = SyntheticSpec(features=(Feature(name="a", cardinality=50), Feature(name="b", cardinality=99, pooling=3.5)))
    dataset = make_synthetic(spec, 20_000).dataset
    (column,) = dataset.bags
    assert dataset.all_features == spec.features
    assert len(column.ids_L) / len(column) == pytest.approx(3.5, abs=0.05)
    assert column.ids_L.min() == 1
    assert zipf_exponents(dataset).keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("poolings", "message"),
    [
        ((0.5,), "feature 'f0': pooling must be >= 1, but got 0.5"),
        ((2.0, 1.0), "features of pooling 1 must come before the others"),
    ],
)
def test_bags_that_cannot_be_planted_say_why(poolings: tuple[float, ...], message: str) -> None:
    features = tuple(Feature(name=f"f{i}", cardinality=9, pooling=value) for i, value in enumerate(poolings))
    with pytest.raises(InputError, match=message):
        SyntheticSpec(features=features)
