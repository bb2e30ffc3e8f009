from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from planner.cost_model.whole_models import (
    WholeModelProvider,
    WholeModelSweep,
    WithWholeModels,
)
from profiles.component import make_component
from profiles.errors import UnknownNameError
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from representations.components import components_of, model_work
from representations.provider import RecommendationProvider
from representations.specs import Feature, ModelSpec, TableSpec

SPEC = ModelSpec(
    name="small",
    dense_features=2,
    features=(Feature(name="a", cardinality=50), Feature(name="b", cardinality=9)),
    embeddings=(TableSpec(dim=4), TableSpec(dim=4)),
    bottom_mlp=(4,),
    top_mlp=(1,),
)
POOLED = ModelSpec(
    name="pooled",
    dense_features=2,
    features=(Feature(name="a", cardinality=50, pooling=2.5),),
    embeddings=(TableSpec(dim=4),),
    bottom_mlp=(4,),
    top_mlp=(1,),
)
QUICK = SweepOptions(seconds_per_visit=0.001, max_seconds_per_visit=0.05, least_gap_s=0.0)


def swept(store: ProfileStore, *specs: ModelSpec) -> WholeModelSweep:
    return WholeModelSweep(specs=specs, store=store, options=QUICK)


def test_models_are_measured_once_into_the_store(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    first = swept(store, SPEC, POOLED).measure((1, 8))
    again = swept(store, SPEC, POOLED).measure((1, 8))
    assert [(one.spec.name, one.batch) for one in first] == [("small", 1), ("small", 8), ("pooled", 1), ("pooled", 8)]
    assert again == first
    assert {row.kind for row in store.load()} == {"model"}
    assert all(one.latency.p25_ms > 0 for one in first)


def test_what_is_left_to_measure_is_told(tmp_path: Path) -> None:
    sweep_of_two = swept(ProfileStore(tmp_path), SPEC, POOLED)
    assert (sweep_of_two.left((1, 8)), sweep_of_two.left_to_serve((1,))) == (4, 2)
    sweep_of_two.measure((1,))
    assert (sweep_of_two.left((1, 8)), sweep_of_two.left_to_serve((1,))) == (2, 2)
    sweep_of_two.measure((1, 8))
    assert sweep_of_two.left((1, 8)) == 0


def test_one_sweep_visits_models_and_components_in_turn(tmp_path: Path) -> None:
    store, models = ProfileStore(tmp_path), WholeModelProvider(specs=(SPEC,))
    parts = {placed.component: None for placed in components_of(SPEC, 8)}
    provider = WithWholeModels(parts=RecommendationProvider(), models=models)
    sweep((*parts, *models.components((1, 8))), provider, store, options=QUICK)
    kinds = {row.content_hash: row.kind for row in store.load() if row.provenance == "measured"}
    in_time = [kinds[visit.content_hash] == "model" for visit in store.visits()]
    assert sum(in_time) == 3 * 2
    assert len(in_time) == 3 * (2 + len(parts))
    assert in_time != sorted(in_time)
    assert swept(store, SPEC).measure((1, 8))[0].latency.visits == 3


def test_models_timed_as_they_come_are_rows_of_their_own_kind(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    replace(swept(store, SPEC), options=replace(QUICK, quiet_core=0.01)).time_served((1,))
    assert {row.kind: (row.batch, row.provenance) for row in store.load()} == {
        "served_model": (1, "measured"),
        "idled_model": (1, "measured"),
    }
    assert all(visit.core_us is None for visit in store.visits())
    assert swept(store, SPEC).measure((1,))[0].batch == 1


def test_a_model_that_cannot_be_measured_is_left_out(tmp_path: Path) -> None:
    huge = ModelSpec(
        name="huge",
        dense_features=0,
        features=(Feature(name="a", cardinality=10**15),),
        embeddings=(TableSpec(dim=64),),
        bottom_mlp=(),
        top_mlp=(1,),
    )
    found = swept(ProfileStore(tmp_path), huge, SPEC).measure((1,))
    assert [one.spec.name for one in found] == ["small"]


@pytest.mark.parametrize("spec", [SPEC, POOLED])
def test_inputs_fit_the_model_and_repeat_with_the_seed(spec: ModelSpec) -> None:
    provider = WholeModelProvider(specs=(spec,), zipf={"a": 1.2})
    built, again = (provider.build(provider.component(spec, 6), 5) for _ in range(2))
    with torch.inference_mode():
        logits, repeated = built.module(*built.args), again.module(*again.args)
    assert logits.shape == (6,)
    np.testing.assert_array_equal(logits.numpy(), repeated.numpy())


def test_work_is_the_whole_models() -> None:
    provider = WholeModelProvider(specs=(SPEC,))
    assert provider.work(provider.component(SPEC, 6)) == model_work(SPEC, 6)


def test_id_skew_makes_another_component() -> None:
    uniform, skewed = WholeModelProvider(specs=(SPEC,)), WholeModelProvider(specs=(SPEC,), zipf=1.0)
    assert uniform.component(SPEC, 1) != skewed.component(SPEC, 1)


def test_a_component_of_another_provider_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"whole model: unknown name 'x'"):
        WholeModelProvider(specs=(SPEC,)).work(make_component("model", 1, {"digest": "x"}))
