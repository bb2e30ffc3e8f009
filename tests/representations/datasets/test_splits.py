from dataclasses import replace

import numpy as np
import pytest

from profiles.errors import InputError, UnknownNameError
from representations.datasets import Dataset, SplitKind, load_dataset, split_dataset
from representations.specs import Feature


@pytest.fixture(scope="module")
def flights() -> Dataset:
    return load_dataset("flights")


def numbered(rows: int) -> Dataset:
    return Dataset(
        name="numbered",
        dense_NF=np.arange(rows, dtype=np.float32)[:, None],
        ids_NS=np.stack([np.arange(rows) // 2, np.arange(rows) % 5], axis=1),
        labels_N=(np.arange(rows) % 3 == 0).astype(np.float32),
        features=(Feature(name="when", cardinality=rows), Feature(name="five", cardinality=5)),
        dense_names=("x",),
    )


def positions(part: Dataset, mean: float, deviation: float) -> list[int]:
    return [round(float(x)) for x in part.dense_NF[:, 0] * deviation + mean]


def test_a_temporal_split_keeps_the_order() -> None:
    splits = split_dataset(numbered(120), "temporal")
    parts = [
        positions(p, splits.dense_mean[0], splits.dense_deviation[0])
        for p in (splits.train, splits.validation, splits.test)
    ]
    assert [row for part in parts for row in part] == list(range(120))
    assert [len(part) for part in parts] == [90, 10, 20]


def test_a_random_split_is_a_partition_that_follows_the_seed() -> None:
    first, again, other = (split_dataset(numbered(120), "random", seed) for seed in (1, 1, 2))
    rows = [
        r
        for p in (first.train, first.validation, first.test)
        for r in positions(p, first.dense_mean[0], first.dense_deviation[0])
    ]
    assert sorted(rows) == list(range(120))
    assert np.array_equal(first.test.labels_N, again.test.labels_N)
    assert not np.array_equal(first.test.ids_NS, other.test.ids_NS)


def test_ids_that_training_never_saw_become_0() -> None:
    splits = split_dataset(numbered(120), "temporal")
    assert (splits.test.ids_NS[:, 0] == 0).all()
    assert (splits.test.ids_NS[:, 1] == np.arange(100, 120) % 5).all()


def test_rare_ids_share_0_so_that_it_is_trained() -> None:
    splits = split_dataset(numbered(121), "temporal", minimum_count=3)
    assert (splits.train.ids_NS[:, 0] == 0).all()


def test_dense_features_are_standardised_on_training_rows() -> None:
    splits = split_dataset(numbered(120), "temporal")
    assert splits.train.dense_NF.mean() == pytest.approx(0, abs=1e-6)
    assert splits.train.dense_NF.std() == pytest.approx(1, abs=1e-6)
    assert splits.test.dense_NF.min() > splits.train.dense_NF.max()


def test_constant_features_stay_finite() -> None:
    data = replace(numbered(24), dense_NF=np.ones((24, 1), dtype=np.float32))
    assert (split_dataset(data).train.dense_NF == 0).all()


@pytest.mark.parametrize("kind", ["temporal", "random"])
def test_flights_split_into_about_two_months_of_test(flights: Dataset, kind: SplitKind) -> None:
    splits = split_dataset(flights, kind)
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [245_509, 27_279, 54_558]
    unseen = (splits.test.ids_NS[:, 7] == 0).mean()
    assert unseen == (1.0 if kind == "temporal" else 0.0)
    assert (splits.dense_features, len(splits.features)) == (1, 9)


def test_bad_splits_say_why() -> None:
    with pytest.raises(UnknownNameError, match="split: unknown name 'by-user'"):
        split_dataset(numbered(120), "by-user")  # type: ignore[arg-type]  # what a user may type
    with pytest.raises(InputError, match="seed: must be >= 0, but got -1"):
        split_dataset(numbered(120), "random", seed=-1)
    with pytest.raises(InputError, match="needs at least 12 rows to be split, but has 5"):
        split_dataset(numbered(5))


@pytest.mark.parametrize(("rows", "part"), [(slice(90), "training"), (slice(90, 100), "validation"), (100, "test")])
def test_labels_of_one_class_are_refused_naming_the_part(rows: slice | int, part: str) -> None:
    data = numbered(120)
    labels = data.labels_N.copy()
    labels[rows if isinstance(rows, slice) else slice(rows, None)] = 0
    with pytest.raises(InputError, match=f"label: must be 0 in some and 1 in other {part} rows, but is 0 in all"):
        split_dataset(replace(data, labels_N=labels))
