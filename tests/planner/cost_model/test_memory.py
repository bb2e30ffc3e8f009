from dataclasses import replace
from typing import get_args

import pytest
import torch

from planner.cost_model.memory import forward_memory
from planner.cost_model.training_memory import training_memory
from planner.cost_model.whole_models import WholeModelProvider
from profiles.errors import UnknownNameError
from profiles.profile_options import ProfileOptions
from profiles.profilers.memory import Memory
from profiles.walk import profile_model
from representations.assignment import Representation, with_representation
from representations.build import build_model
from representations.presets import get_preset
from representations.specs import DheSpec, Feature, ModelSpec, TableSpec

SMALL = replace(
    get_preset("dlrm-flights"), features=get_preset("dlrm-flights").features[:4], embeddings=(TableSpec(dim=16),) * 4
)
DHE = DheSpec(dim=16, k=128, widths=(64,))
REPRESENTATIONS = get_args(Representation)
POOLED = tuple(replace(feature, pooling=4.0) for feature in SMALL.features)


def measured_peak_bytes(spec: ModelSpec, batch: int) -> int:
    provider = WholeModelProvider(specs=(spec,))
    built = provider.build(provider.component(spec, batch), 0)
    options = ProfileOptions(threads=1, budget_s=0.0, max_depth=0)
    with torch.inference_mode():
        profile = profile_model(built.module.eval(), built.args, options=options, profilers=[Memory()])
    peak_bytes = profile.rows[0].peak_memory_bytes
    assert peak_bytes is not None
    return peak_bytes


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_the_peak_is_what_a_profile_measures(representation: Representation) -> None:
    spec = with_representation(SMALL, representation, dim=16, dhe=DHE)
    for batch in (64, 512):
        assert forward_memory(spec, batch).activation_bytes == pytest.approx(measured_peak_bytes(spec, batch), rel=0.01)


@pytest.mark.parametrize("representation", ["table", "hybrid", "quotient-remainder", "tensor-train", "robe"])
def test_bags_and_other_interactions_are_followed_too(representation: Representation) -> None:
    pooled = replace(SMALL, features=POOLED)
    for shape in (
        replace(pooled, interaction="concat"),
        replace(pooled, interaction="fm", deep_mlp=(64, 32)),
    ):
        spec = with_representation(shape, representation, dim=16, dhe=DHE)
        assert forward_memory(spec, 256).activation_bytes == pytest.approx(measured_peak_bytes(spec, 256), rel=0.01)


def test_parameters_are_exactly_the_built_models() -> None:
    spec = with_representation(SMALL, "hybrid", dim=16, dhe=DHE)
    model = build_model(spec)
    tensors = [*model.parameters(), *model.buffers()]
    assert forward_memory(spec, 1).parameter_bytes == sum(one.nbytes for one in tensors)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("features", [SMALL.features, POOLED], ids=["single", "bags"])
def test_what_a_backward_pass_needs_is_what_a_profile_finds_kept(
    representation: Representation, features: tuple[Feature, ...]
) -> None:
    spec = with_representation(replace(SMALL, features=features), representation, dim=16, dhe=DHE)
    provider = WholeModelProvider(specs=(spec,))
    built = provider.build(provider.component(spec, 512), 0)
    options = ProfileOptions(threads=1, budget_s=0.0, max_depth=0, backward=True)
    profile = profile_model(built.module, built.args, options=options, profilers=[Memory()])
    kept = next(row for row in profile.rows if row.path == "" and row.phase == "backward").figures["allocated_bytes"]
    assert training_memory(spec, 512).activation_bytes == pytest.approx(kept, rel=0.01)


def test_training_holds_gradients_and_optimizer_state() -> None:
    spec = ModelSpec(
        name="one",
        dense_features=2,
        features=(Feature(name="a", cardinality=1000),),
        embeddings=(TableSpec(dim=4),),
        bottom_mlp=(4,),
        top_mlp=(1,),
    )
    dense_bytes, rows_bytes = spec.parameter_bytes - spec.embedding_bytes, 1000 * 4
    adam, sgd = (training_memory(spec, 10**6, dense_optimizer=name) for name in ("adam", "sgd"))
    assert adam.optimizer_bytes == 2 * dense_bytes + rows_bytes
    assert sgd.optimizer_bytes == rows_bytes
    # All rows are touched: 4 floats and an id each.
    assert adam.gradient_bytes == dense_bytes + 1000 * 24
    assert adam.peak_bytes > forward_memory(spec, 10**6).peak_bytes
    with pytest.raises(UnknownNameError, match=r"dense optimizer: unknown name 'lion'"):
        training_memory(spec, 1, dense_optimizer="lion")  # type: ignore[arg-type]  # that is what is tested
