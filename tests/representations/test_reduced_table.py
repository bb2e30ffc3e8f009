import numpy as np
import pytest
import torch

from profiles.errors import InputError, UnknownNameError
from representations.build import build_model
from representations.datasets import Dataset, Splits
from representations.embedding import build_embedding
from representations.reduced_table import ReducedTableEmbedding, RowNumbers, keep_frequent
from representations.specs import Feature, ModelSpec, ReducedTableSpec, TableSpec
from representations.tables.quantise import quantise_as, trainable_spec
from representations.training import predict, train
from representations.training_config import TrainingConfig

FEATURE = Feature(name="f", cardinality=10)
FREQUENT = ReducedTableSpec(dim=4, rows=3, kept_by="frequency")


def data(rows: int = 400) -> Dataset:
    rng = np.random.default_rng(0)
    ids = rng.choice(10, size=(rows, 1), p=[0.02] * 8 + [0.34, 0.5])
    return Dataset(
        name="drawn",
        dense_NF=np.zeros((rows, 0), dtype=np.float32),
        ids_NS=ids.astype(np.int64),
        labels_N=(ids[:, 0] == 9).astype(np.float32),
        features=(FEATURE,),
    )


def model_of(embedding: ReducedTableSpec | TableSpec) -> ModelSpec:
    return ModelSpec(
        name="m", dense_features=0, features=(FEATURE,), embeddings=(embedding,), bottom_mlp=(), top_mlp=(4, 1),
        interaction="concat",
    )  # fmt: skip


def test_ids_that_hash_alike_share_a_row() -> None:
    module = build_embedding(FEATURE, ReducedTableSpec(dim=4, rows=3))
    rows = module(torch.arange(10))
    assert torch.equal(rows[1], rows[4])
    assert not torch.equal(rows[1], rows[2])


def test_the_most_frequent_ids_have_rows_of_their_own_and_all_others_share_one() -> None:
    module = build_embedding(FEATURE, FREQUENT)
    assert isinstance(module, ReducedTableEmbedding)
    keep_frequent(torch.nn.ModuleList([module]), data())
    assert module.numbers(torch.arange(10)).tolist() == [2, 2, 2, 2, 2, 2, 2, 2, 1, 0]


def test_before_counts_are_known_the_first_ids_have_rows() -> None:
    assert RowNumbers(5, 3)(torch.arange(5)).tolist() == [0, 1, 2, 2, 2]


def test_training_keeps_the_rows_of_frequent_ids_and_learns_from_them() -> None:
    splits = Splits(train=data(), validation=data(), test=data(), kind="temporal")
    result = train(model_of(FREQUENT), splits, TrainingConfig(epochs=30, batch_size=64))
    assert result.validation.accuracy > 0.95


def test_a_quantised_candidate_is_trained_as_float32_and_served_in_int8() -> None:
    served = model_of(TableSpec(dim=4, dtype="int8", backend="quantised"))
    spec = trainable_spec(served)
    assert spec.embeddings == (TableSpec(dim=4),)
    model = build_model(spec).eval()
    whole, small = predict(model, data()), predict(quantise_as(model, served), data())
    assert not np.array_equal(whole, small)
    assert np.allclose(whole, small, atol=0.01)
    with pytest.raises(InputError, match="was not trained for"):
        quantise_as(model, model_of(TableSpec(dim=8, dtype="int8", backend="quantised")))


def test_bytes_are_those_of_the_rows_and_of_the_numbers_of_rows() -> None:
    assert ReducedTableSpec(dim=4, rows=3).parameter_bytes(FEATURE) == 3 * 4 * 4
    assert FREQUENT.parameter_bytes(FEATURE) == 3 * 4 * 4 + 10 * 4


@pytest.mark.parametrize(
    ("fields", "error"),
    [({"rows": 0}, InputError), ({"kept_by": "luck"}, UnknownNameError), ({"dtype": "int8"}, UnknownNameError)],
)
def test_bad_specs_are_refused(fields: dict[str, object], error: type[InputError]) -> None:
    with pytest.raises(error, match="reduced-table"):
        ReducedTableSpec(**{"dim": 4, "rows": 3, **fields})  # type: ignore[arg-type]  # bad ones too


def test_a_feature_of_no_more_ids_than_rows_is_refused() -> None:
    with pytest.raises(InputError, match="rows must be fewer than the 10 ids of 'f'"):
        ReducedTableSpec(dim=4, rows=10).parameter_bytes(FEATURE)
