from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from profiles.errors import CorruptFileError, InputError, StorageError
from representations.build import build_model
from representations.model_file import load_model, save_model
from representations.specs import ModelSpec
from representations.tables import fuse_optimizers
from representations.target import random_inputs
from tests.representations.models import DHE, FUSED, MODELS, TABLE, small_model


@pytest.mark.parametrize("spec", MODELS, ids=lambda spec: spec.representation)
def test_a_model_comes_back_the_same(tmp_path: Path, spec: ModelSpec) -> None:
    model = build_model(spec, seed=5).eval()
    loaded = load_model(save_model(model, tmp_path / "model.safetensors"))
    inputs = random_inputs(spec, 4)
    assert loaded.spec == spec
    assert torch.equal(loaded(*inputs), model(*inputs))
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_model_with_a_fused_optimizer_comes_back_without_its_state(tmp_path: Path) -> None:
    model = build_model(small_model(FUSED, TABLE))
    fuse_optimizers(model, learning_rate=0.1)
    inputs = random_inputs(model.spec, 4)
    torch.autograd.backward(model(*inputs).sum())
    loaded = load_model(save_model(model, tmp_path / "m"))
    with torch.no_grad():
        assert torch.equal(loaded(*inputs), model.eval()(*inputs))


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = save_model(build_model(small_model(TABLE)), tmp_path / "m")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(CorruptFileError, match="m: not a whole safetensors file"):
        load_model(path)
    with pytest.raises(InputError, match="none: no such file"):
        load_model(tmp_path / "none")


def test_other_safetensors_files_are_refused(tmp_path: Path) -> None:
    save_file({"x": torch.zeros(1)}, tmp_path / "m")
    with pytest.raises(CorruptFileError, match=r"schema: must be 'recplan\.model/1', but got None"):
        load_model(tmp_path / "m")


def test_weights_of_another_spec_are_refused(tmp_path: Path) -> None:
    model = build_model(small_model(TABLE, DHE))
    model.spec = small_model(TABLE, TABLE)
    with pytest.raises(CorruptFileError, match="weights and spec do not fit"):
        load_model(save_model(model, tmp_path / "m"))


def test_an_unwritable_place_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write"):
        save_model(build_model(small_model(TABLE)), tmp_path / "no-such-folder" / "m")
