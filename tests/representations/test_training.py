from dataclasses import replace

import numpy as np
import pytest
import torch

from profiles.errors import InputError, MeasurementError
from representations.assignment import Representation, with_representation
from representations.build import build_model
from representations.datasets import Splits, SyntheticSpec, load_dataset, make_synthetic, split_dataset
from representations.dhe.embedding import DheEmbedding, set_deduplication, set_streaming
from representations.metrics import score
from representations.presets import get_preset
from representations.specs import DheSpec, Feature, HybridSpec, ModelSpec, TableSpec
from representations.specs.table import TableBackend
from representations.training import predict, train
from representations.training_config import TrainingConfig, TrainingProgress

SMALL_DATA = SyntheticSpec(
    features=(Feature(name="a", cardinality=50), Feature(name="b", cardinality=20)), effect_scale=1.0, zipf=0.5
)
SPEC = ModelSpec(
    name="small",
    dense_features=2,
    features=SMALL_DATA.features,
    embeddings=(TableSpec(dim=8),) * 2,
    bottom_mlp=(16, 8),
    top_mlp=(16, 1),
)
CONFIG = TrainingConfig(epochs=4, batch_size=256)


@pytest.fixture(scope="module")
def splits() -> Splits:
    return split_dataset(make_synthetic(SMALL_DATA, 12_000).dataset, "random")


@pytest.mark.parametrize("representation", ["table", "dhe", "select", "hybrid"])
def test_every_representation_comes_near_the_best_possible(representation: Representation, splits: Splits) -> None:
    data = make_synthetic(SMALL_DATA, 12_000)
    best = score(data.dataset.labels_N, data.probabilities_N)
    spec = with_representation(SPEC, representation, dim=8, dhe=DheSpec(dim=8, k=64, widths=(32,)), selected=1)
    result = train(spec, splits, CONFIG)
    assert result.auc > best.auc - 0.04
    assert result.log_loss < best.log_loss + 0.04


def test_equal_seeds_give_equal_results(splits: Splits) -> None:
    first, again, other = (train(SPEC, splits, TrainingConfig(epochs=1, seed=seed)) for seed in (1, 1, 2))
    assert first.test == again.test
    assert first.test != other.test


def test_the_best_epoch_is_kept(splits: Splits) -> None:
    config = TrainingConfig(epochs=30, maximum_rows=2000, table_learning_rate=3.0, learning_rate=0.05, patience=2)
    result = train(SPEC, splits, config)
    losses = result.validation_log_losses
    assert result.epochs == len(losses) == result.best_epoch + 2
    assert result.validation.log_loss == min(losses) == losses[result.best_epoch - 1]
    kept = score(splits.validation.labels_N, predict(result.model, splits.validation))
    assert kept.log_loss == pytest.approx(result.validation.log_loss)


def test_progress_reports_every_step(splits: Splits) -> None:
    seen: list[TrainingProgress] = []
    result = train(SPEC, splits, TrainingConfig(epochs=2, batch_size=1000, maximum_rows=2500), seen.append)
    assert [(p.epoch, p.step, p.steps) for p in seen] == [(1 + i // 3, i + 1, 6) for i in range(6)]
    assert result.samples_per_s == pytest.approx(5000 / result.seconds)


def test_torch_threads_are_restored(splits: Splits) -> None:
    before = torch.get_num_threads()
    train(SPEC, splits, TrainingConfig(epochs=1, maximum_rows=100, threads=before + 1))
    assert torch.get_num_threads() == before


def test_data_that_does_not_fit_the_model_is_an_error(splits: Splits) -> None:
    renamed = replace(SPEC, features=(SPEC.features[0], Feature(name="c", cardinality=20)))
    with pytest.raises(InputError, match=r"features are \['a', 'c'\], but those of 'synthetic' are \['a', 'b'\]"):
        train(renamed, splits)
    narrow = replace(SPEC, features=(Feature(name="a", cardinality=3), SPEC.features[1]))
    with pytest.raises(InputError, match=r"feature 'a', row \d+: id must be in \[0, 3\)"):
        train(narrow, splits)
    with pytest.raises(InputError, match="has 5 dense features"):
        train(replace(SPEC, dense_features=5), splits)


def test_what_cannot_be_trained_names_the_feature(splits: Splits) -> None:
    small = TableSpec(dim=8, dtype="int8", backend="quantised")
    for table in (small, HybridSpec(table=small, dhe=DheSpec(dim=8, k=4))):
        spec = replace(SPEC, embeddings=(TableSpec(dim=table.width), table), bottom_mlp=(table.width,))
        with pytest.raises(InputError, match="feature 'b': a table of the back end 'quantised' has no gradient"):
            train(spec, splits)
    several = replace(SPEC, features=(replace(SPEC.features[0], pooling=2.5), SPEC.features[1]))
    with pytest.raises(InputError, match=r"feature 'a': pooling must be 1, .* have one id each, but got 2\.5"):
        train(several, splits)


@pytest.mark.parametrize("enabled", [False, True])
def test_predicting_leaves_deduplication_and_streaming_as_they_were(splits: Splits, *, enabled: bool) -> None:
    model = build_model(replace(SPEC, embeddings=(DheSpec(dim=8, k=1200, widths=(4,)),) * 2))
    set_deduplication(model, enabled=enabled)
    set_streaming(model, enabled=enabled)
    predict(model, splits.test)
    switches = [(dhe.deduplicate, dhe.stream) for dhe in model.modules() if isinstance(dhe, DheEmbedding)]
    assert switches == [(enabled, enabled)] * 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="is there")
def test_a_device_that_is_not_there_is_refused(splits: Splits) -> None:
    with pytest.raises(InputError, match="'cuda' is not on this machine"):
        train(SPEC, splits, TrainingConfig(device="cuda"))


def test_a_loss_that_is_not_finite_stops_training(splits: Splits) -> None:
    with pytest.raises(MeasurementError, match=r"training of 'small': the loss is (nan|inf) at step"):
        train(SPEC, splits, TrainingConfig(learning_rate=1e30, batch_size=64))


def test_id_0_is_learned_where_some_ids_are_masked(splits: Splits) -> None:
    config = TrainingConfig(epochs=1, batch_size=1000)
    begun = build_model(SPEC).state_dict()["embeddings.0.weight"]
    for share, is_learned in ((0.0, False), (0.05, True)):
        trained = train(SPEC, splits, replace(config, unknown_share=share)).model.state_dict()["embeddings.0.weight"]
        assert torch.equal(begun[0], trained[0]) is not is_learned


def test_models_without_dense_features_train(splits: Splits) -> None:
    result = train(replace(SPEC, dense_features=0, bottom_mlp=()), splits, TrainingConfig(epochs=1))
    assert 0.5 < result.auc < 1
    assert result.accuracy > 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "training.epochs: must be >= 1, but got 0"),
        ({"maximum_rows": -1}, "training.maximum_rows: must be >= 1, but got -1"),
        ({"learning_rate": 0.0}, "training.learning_rate: must be finite and > 0, but got 0"),
        ({"table_learning_rate": float("nan")}, "training.table_learning_rate: must be finite"),
        ({"unknown_share": 1.0}, r"training.unknown_share: must be in \[0, 1\), but got 1"),
        ({"seed": -1}, "training.seed: must be >= 0"),
        ({"batch_size": 2.5}, "training.batch_size: must be an integer, but got 2.5"),
        ({"learning_rate": "x"}, "training.learning_rate: must be a number, but got 'x'"),
        ({"dense_optimizer": "lamb"}, "training.dense_optimizer: must be one of .*, but got 'lamb'"),
        ({"device": "tpu"}, "training.device: must be cpu, cuda or cuda:N, but got 'tpu'"),
        ({"precision": "float8"}, "training.precision: must be one of .*, but got 'float8'"),
    ],
)
def test_bad_settings_name_the_key(changes: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainingConfig(**changes)  # type: ignore[arg-type]  # what a user may write


@pytest.mark.parametrize("changes", [{"precision": "bfloat16"}, {"dense_optimizer": "sgd", "learning_rate": 0.3}])
def test_other_precisions_and_optimizers_learn_too(changes: dict[str, float], splits: Splits) -> None:
    result = train(SPEC, splits, replace(CONFIG, **changes))  # type: ignore[arg-type]  # as above
    assert result.auc > 0.65
    assert all(value.dtype == torch.float32 for value in result.model.parameters())


@pytest.mark.parametrize("backend", ["torchrec", "fbgemm"])
def test_every_back_end_learns_what_plain_tables_learn(backend: TableBackend, splits: Splits) -> None:
    config = TrainingConfig(epochs=1, batch_size=256)
    plain = train(SPEC, splits, config)
    other = train(replace(SPEC, embeddings=(TableSpec(dim=8, backend=backend),) * 2), splits, config)
    assert other.auc == pytest.approx(plain.auc, abs=0.02)
    assert other.log_loss == pytest.approx(plain.log_loss, abs=0.03)


def test_half_precision_tables_learn(splits: Splits) -> None:
    spec = replace(SPEC, embeddings=(TableSpec(dim=8, dtype="float16", backend="fbgemm"),) * 2)
    result = train(spec, splits, CONFIG)
    assert result.auc > 0.65
    assert {p.dtype for p in result.model.embedding_set.parameters()} == {torch.float16}


def test_flights_are_learned_in_one_epoch_over_a_part() -> None:
    data = split_dataset(load_dataset("flights", rows=80_000), "random")
    result = train(get_preset("dlrm-flights"), data, TrainingConfig(epochs=1, batch_size=1024))
    assert result.auc > 0.7
    assert np.isfinite(result.validation.log_loss)
