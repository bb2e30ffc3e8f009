"""Training on samples with several ids per feature."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from profiles.errors import InputError
from representations.datasets import Splits, SyntheticSpec, make_synthetic, split_dataset
from representations.metrics import score
from representations.specs import DheSpec, EmbeddingSpec, Feature, HybridSpec, ModelSpec, TableSpec
from representations.training import predict, train
from representations.training_config import Checkpoints, TrainingConfig
from tests.representations.test_checkpoint import StopError, assert_same, stop_at

DATA = SyntheticSpec(
    features=(Feature(name="a", cardinality=20), Feature(name="tags", cardinality=40, pooling=3.0)),
    effect_scale=1.5,
    interaction_scale=0.0,
    zipf=0.5,
)
TABLE = TableSpec(dim=8)
DHE = DheSpec(dim=8, k=32, widths=(16,))
CONFIG = TrainingConfig(epochs=3, batch_size=256)


def model_of(*embeddings: EmbeddingSpec) -> ModelSpec:
    return ModelSpec(
        name="bags",
        dense_features=2,
        features=DATA.features,
        embeddings=embeddings,
        bottom_mlp=(16, 8),
        top_mlp=(16, 1),
    )


@pytest.fixture(scope="module")
def splits() -> Splits:
    return split_dataset(make_synthetic(DATA, 12_000).dataset, "random")


@pytest.mark.parametrize(
    "embeddings",
    [
        (TABLE, TABLE),
        (TABLE, DHE),
        (HybridSpec(table=TableSpec(dim=4), dhe=replace(DHE, dim=4)),) * 2,
        (TableSpec(dim=8, backend="fbgemm"),) * 2,
        (TableSpec(dim=8, backend="torchrec"),) * 2,
    ],
)
def test_effects_of_ids_in_bags_are_learned(embeddings: tuple[EmbeddingSpec, ...], splits: Splits) -> None:
    data = make_synthetic(DATA, 12_000)
    best = score(data.dataset.labels_N, data.probabilities_N)
    result = train(model_of(*embeddings), splits, CONFIG)
    assert result.auc > best.auc - 0.06
    assert result.samples_per_s > 0


def test_a_stopped_training_goes_on_to_the_same_bits(splits: Splits, tmp_path: Path) -> None:
    spec, config = model_of(TABLE, DHE), replace(CONFIG, epochs=2, maximum_rows=2000)
    checkpoints = Checkpoints(path=tmp_path / "run.pt", every_seconds=0)
    with pytest.raises(StopError):
        train(spec, splits, config, stop_at(11), checkpoints)
    assert_same(train(spec, splits, config, checkpoints=checkpoints), train(spec, splits, config))
    column = splits.train.bags[0]
    other = replace(splits.train, bags=(replace(column, ids_L=column.ids_L[::-1].copy()),))
    with pytest.raises(InputError, match="another training: train rows differ"):
        train(spec, replace(splits, train=other), config, checkpoints=checkpoints)


def test_predictions_are_those_of_the_bags_one_by_one(splits: Splits) -> None:
    model = train(model_of(TABLE, DHE), splits, replace(CONFIG, epochs=1, maximum_rows=500)).model
    rows = splits.test.take(np.array([5, 0, 5]))
    one_by_one = [predict(model, rows.take(slice(i, i + 1)))[0] for i in range(3)]
    np.testing.assert_allclose(predict(model, rows), one_by_one, rtol=1e-5)


def test_an_id_of_a_bag_beyond_the_models_range_is_an_error(splits: Splits) -> None:
    features = (DATA.features[0], replace(DATA.features[1], cardinality=7))
    with pytest.raises(InputError, match=r"feature 'tags', row \d+: id must be in \[0, 7\), but got \d+"):
        train(replace(model_of(TABLE, TABLE), features=features), splits)


def test_unseen_ids_are_learned_in_bags_too(splits: Splits) -> None:
    config = replace(CONFIG, epochs=1, unknown_share=0.1)
    weights = [
        train(model_of(TABLE, TABLE), splits, replace(config, unknown_share=share)).model.state_dict()
        for share in (0.0, 0.1)
    ]
    first, second = (state["embeddings.1.weight"][0] for state in weights)
    assert not torch.equal(first, second)
