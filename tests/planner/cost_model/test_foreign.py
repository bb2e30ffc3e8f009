from collections import Counter
from dataclasses import replace

import pytest
import torch
from torch import nn

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.cost_model.foreign import components_of_module, predict_module
from profiles.errors import InputError
from profiles.hardware import get_hardware
from profiles.profile_options import ProfileOptions
from profiles.providers.target import Target
from profiles.records import ComponentProfile
from profiles.walk import profile_target
from representations.components import PlacedComponent, model_work, work_of
from representations.presets import get_preset
from representations.torchrec_models import TorchrecModel, deepfm, dlrm, torchrec_target

BATCH = 32
COST_MODEL = CostModel(models={"gpu": RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)})


def small(model: TorchrecModel) -> TorchrecModel:
    return replace(model, features=tuple(replace(one, cardinality=50, pooling=2.0) for one in model.features[:3]))


def target_of(model: TorchrecModel) -> Target:
    return torchrec_target(model, batch=BATCH)


def profiled(target: Target) -> ComponentProfile:
    with torch.inference_mode():
        return profile_target(target, options=ProfileOptions(threads=1, budget_s=0.0, max_depth=0)).rows[0]


@pytest.fixture(scope="module", params=[dlrm, deepfm], ids=["dlrm", "deepfm"])
def target(request: pytest.FixtureRequest) -> Target:
    return target_of(replace(small(request.param()), varying=False))


@pytest.fixture(scope="module")
def placed(target: Target) -> tuple[PlacedComponent, ...]:
    return components_of_module(target.model, BATCH, pooling=2.0)


def test_totals_are_those_of_a_profile(target: Target, placed: tuple[PlacedComponent, ...]) -> None:
    works, row = [work_of(one.component) for one in placed], profiled(target)
    assert sum(work.flops for work in works) == pytest.approx(row.flops, rel=0.001)
    assert sum(work.parameter_bytes for work in works) == row.parameter_bytes


def test_components_stand_at_modules_of_the_model(target: Target, placed: tuple[PlacedComponent, ...]) -> None:
    paths = dict(target.model.named_modules())
    assert all(one.path in paths for one in placed)
    linears = sum(isinstance(one, nn.Linear) for one in paths.values())
    kinds = Counter(one.component.kind for one in placed)
    assert (kinds["linear"], kinds["embedding_group"], kinds["interaction"]) == (linears, 1, 1)


def test_torchrecs_dlrm_is_our_own_of_that_shape() -> None:
    placed = components_of_module(target_of(dlrm()).model, 256, pooling=10.0)
    works = [work_of(one.component) for one in placed]
    ours = model_work(get_preset("dlrm-bench"), 256)
    assert sum(work.flops for work in works) == pytest.approx(ours.flops)
    assert sum(work.parameter_bytes for work in works) == ours.parameter_bytes
    # Torchrec joins all embeddings once more before they meet.
    joined = next(work for one, work in zip(placed, works, strict=True) if one.component.kind == "concat")
    assert sum(work.bytes_moved for work in works) - joined.bytes_moved == pytest.approx(ours.bytes_moved, rel=0.01)


def test_it_is_predicted_as_one_of_ours(target: Target, placed: tuple[PlacedComponent, ...]) -> None:
    latency = predict_module(COST_MODEL, target.model, (1, BATCH), "gpu", pooling=2.0)
    assert len(latency.at(BATCH)) == len(placed) + 1
    assert latency.mean_ms[1] > latency.mean_ms[0] > 0


def test_ids_may_differ_by_feature(target: Target) -> None:
    names = [name for one in target.model.modules() for name in getattr(one, "_embedding_names", ())]
    few, many = (components_of_module(target.model, BATCH, pooling=dict.fromkeys(names, ids)) for ids in (1.0, 9.0))
    ids = [
        next(one.component for one in some if one.component.kind == "embedding_group")["pooling"]
        for some in (few, many)
    ]
    assert ids == [1.0, 9.0]


def test_an_unknown_module_is_named_with_its_path_and_class() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.GELU()))
    with pytest.raises(InputError, match=r"module '1\.0': nothing is known of the cost of a torch\.nn\.\S+\.GELU"):
        components_of_module(model, 1)


def test_an_unknown_activation_of_a_perceptron_is_named() -> None:
    from torchrec.modules.mlp import MLP

    with pytest.raises(InputError, match=r"module '_mlp\.0': nothing is known of the cost of its activation"):
        components_of_module(MLP(4, [4], activation=torch.tanh), 1)


def test_a_layer_without_a_bias_is_a_projection() -> None:
    (one,) = components_of_module(nn.Linear(4, 3, bias=False), 2)
    assert (one.path, one.component.kind) == ("", "projection")
    assert predict_module(COST_MODEL, nn.Linear(4, 3), (2,), "gpu").mean_ms[0] > 0
