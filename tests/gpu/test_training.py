"""Models that train on a GPU."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from representations.assignment import Representation, with_representation
from representations.datasets import SyntheticSpec, make_synthetic, split_dataset
from representations.specs import DheSpec, Feature, ModelSpec, TableSpec
from representations.training import train
from representations.training_config import Checkpoints, TrainingConfig

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

DATA = SyntheticSpec(features=(Feature(name="a", cardinality=50), Feature(name="b", cardinality=20)), effect_scale=1.0)
SPLITS = split_dataset(make_synthetic(DATA, 12_000).dataset, "random")
SPEC = ModelSpec(
    name="small",
    dense_features=2,
    features=DATA.features,
    embeddings=(TableSpec(dim=8),) * 2,
    bottom_mlp=(16, 8),
    top_mlp=(16, 1),
)
CONFIG = TrainingConfig(epochs=2, batch_size=256)


@pytest.mark.parametrize("representation", ["table", "dhe", "hybrid"])
def test_a_model_learns_as_much_on_a_gpu_and_comes_back(representation: Representation) -> None:
    spec = with_representation(SPEC, representation, dim=8, dhe=DheSpec(dim=8, k=64, widths=(32,)))
    here, there = (train(spec, SPLITS, replace(CONFIG, device=device)) for device in ("cpu", "cuda"))
    assert there.auc == pytest.approx(here.auc, abs=0.01)
    assert {value.device.type for value in there.model.parameters()} == {"cpu"}


def test_training_on_a_gpu_is_carried_on(tmp_path: Path) -> None:
    checkpoints, config = Checkpoints(path=tmp_path / "state.safetensors"), replace(CONFIG, device="cuda")
    train(SPEC, SPLITS, config, checkpoints=checkpoints, share=0.4)
    carried = train(SPEC, SPLITS, config, checkpoints=checkpoints)
    assert carried.auc == pytest.approx(train(SPEC, SPLITS, config).auc, abs=0.01)
