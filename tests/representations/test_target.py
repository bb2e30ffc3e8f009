import torch

from representations.presets import get_preset, model_presets
from representations.target import build_target, profile_targets, random_inputs
from tests.representations.models import TABLE, small_model


def test_every_preset_is_a_target() -> None:
    assert profile_targets.names() == model_presets.names()


def test_a_target_runs() -> None:
    target = profile_targets.get("dlrm-flights")()
    assert target.spec == target.built == get_preset("dlrm-flights")
    assert target.cut_rows is None
    with torch.inference_mode():
        assert target.model(*target.args).shape == (256,)


def test_large_tables_are_cut_to_the_budget_and_the_true_spec_kept() -> None:
    target = build_target(get_preset("dlrm-kaggle"), batch=3, budget_bytes=20_000_000)
    assert target.spec.embedding_bytes == 2_160_804_928
    assert 19_000_000 < target.built.embedding_bytes <= 20_000_000
    assert target.cut_rows == target.built.features[2].cardinality < 10_131_227
    assert target.built.features[8] == target.spec.features[8]
    assert target.model(*target.args).shape == (3,)


def test_pooled_features_get_bags() -> None:
    dense, bags = random_inputs(small_model(TABLE, TABLE, pooling=4.0), 5)
    assert dense.shape == (5, 2)
    assert isinstance(bags, list)
    ids, offsets = bags[0]
    assert (len(ids), offsets.tolist()) == (20, [0, 4, 8, 12, 16])
