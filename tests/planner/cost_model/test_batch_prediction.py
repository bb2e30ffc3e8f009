from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cost_model.batch_prediction import CandidatePredictor, predict_candidates
from planner.cost_model.candidates import Candidates, DenseSpec, candidates_of
from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.cost_model.context import Context
from planner.cost_model.model import fit_device_model
from planner.cost_model.traffic import behind, in_context
from profiles.errors import InputError, UnknownNameError
from profiles.hardware import get_hardware
from representations.components import components_of, model_work, work_of
from representations.specs import (
    DheSpec,
    EmbeddingSpec,
    Feature,
    HybridSpec,
    Interaction,
    MixedDimensionSpec,
    ModelSpec,
    QuotientRemainderSpec,
    RobeSpec,
    TableSpec,
    TensorTrainSpec,
)
from tests.planner.cost_model.synthetic import profiles_of

FEATURES = (
    Feature(name="a", cardinality=100_000),
    Feature(name="b", cardinality=700, pooling=2.5),
    Feature(name="c", cardinality=9),
)
EMBEDDINGS: tuple[EmbeddingSpec, ...] = (
    TableSpec(dim=8),
    TableSpec(dim=8, dtype="float16"),
    TableSpec(dim=8, backend="fbgemm"),
    TableSpec(dim=8, backend="quantised", dtype="int8"),
    DheSpec(dim=8, k=16, widths=(32,)),
    DheSpec(dim=8, k=8, widths=(8, 8), norm="batch", transform="gaussian"),
    HybridSpec(table=TableSpec(dim=4), dhe=DheSpec(dim=4, k=16, widths=(16,))),
    QuotientRemainderSpec(dim=8),
    MixedDimensionSpec(dim=8, inner_dim=2),
    TensorTrainSpec(dim=8, rank=2),
    RobeSpec(dim=8, floats=512, block=4),
    TableSpec(dim=3),
    DheSpec(dim=20, k=8, widths=()),
)
WIDTHS = np.array([one.width for one in EMBEDDINGS])
DENSE = (
    DenseSpec(bottom_mlp=(32, 8), top_mlp=(16, 1)),
    DenseSpec(bottom_mlp=(8,), top_mlp=(1,)),
    DenseSpec(bottom_mlp=(16, 4), top_mlp=(64, 8, 1), interaction="concat"),
    DenseSpec(bottom_mlp=(16, 4), top_mlp=(64, 1), interaction="fm", deep_mlp=(12,)),
)
BATCH = 96
ZIPF = {"a": 1.1}


def columns(embedding_NF: list[list[int]], dense_N: list[int]) -> Candidates:
    return Candidates(
        features=FEATURES,
        dense_features=5,
        embeddings=EMBEDDINGS,
        dense=DENSE,
        embedding_NF=np.array(embedding_NF, dtype=np.intp).reshape(-1, len(FEATURES)),
        dense_N=np.array(dense_N, dtype=np.intp),
    )


@st.composite
def drawn(draw: st.DrawFn) -> Candidates:
    dense_N = draw(st.lists(st.integers(0, len(DENSE) - 1), min_size=1, max_size=12))
    any_width, width_8 = range(len(EMBEDDINGS)), np.flatnonzero(WIDTHS == 8).tolist()
    rows = [
        [draw(st.sampled_from(width_8 if DENSE[dense].interaction == "dot" else any_width)) for _ in FEATURES]
        for dense in dense_N
    ]
    return columns(rows, dense_N)


def fitted() -> CostModel:
    models = [columns([[e] * 3, [e, 0, 4]], [2, 3]).model(i) for e in range(len(EMBEDDINGS)) for i in (0, 1)]
    models += [columns([[0, 4, 0]], [dense]).model(0) for dense in (0, 1)]
    parts = [one.component for spec in models for one in components_of(spec, BATCH, zipf=ZIPF)]
    within = [behind(one, 2**20) for one in parts]
    rows = profiles_of(list(dict.fromkeys([*parts, *within])), noise=0.1)
    context = Context(
        stretch=1.2,
        per_component_ms=0.003,
        per_container_ms=0.02,
        per_family_ms=0.01,
        per_distance_ms=0.003,
        per_byte_ms=2e-8,
        per_kept_byte_ms=1e-7,
        per_displaced_byte_ms=1e-7,
        half_width=0.1,
    )
    device = replace(fit_device_model(rows, work_of), busy_w=90.0)
    return CostModel(
        models={"plain": device, "context": device, "profiled": device, "ipu": ipu(10**9), "small": ipu(10**5)},
        contexts={"context": context, "profiled": replace(context, has_table_profiles=True)},
    )


def ipu(on_chip_bytes: int) -> RooflineDeviceModel:
    return RooflineDeviceModel(hardware=replace(get_hardware("ipu-gc200"), on_chip_bytes=on_chip_bytes), work=work_of)


COST_MODEL = fitted()
PREDICTORS = {name: CandidatePredictor(COST_MODEL, name, BATCH, ZIPF) for name in COST_MODEL.models}


@pytest.mark.parametrize("device", COST_MODEL.models)
@settings(max_examples=20, deadline=None)
@given(candidates=drawn())
def test_columns_cost_what_the_models_cost_one_by_one(device: str, candidates: Candidates) -> None:
    costs = PREDICTORS[device].predict(candidates)
    for n in range(len(candidates)):
        spec = candidates.model(n)
        latency = COST_MODEL.predict_model(spec, (BATCH,), device, ZIPF)
        for name in ("mean_ms", "low_ms", "high_ms", "energy_j"):
            assert getattr(costs, name)[n] == pytest.approx(getattr(latency, name)[0], rel=1e-12)
        assert costs.parameter_bytes[n] == spec.parameter_bytes
        assert costs.flops[n] == pytest.approx(model_work(spec, 1, zipf=ZIPF).flops, rel=1e-12)
        assert costs.extrapolated[n] == latency.extrapolated


def test_more_candidates_than_fit_a_chunk_come_in_their_order() -> None:
    one = columns([[0, 4, 8], [5, 6, 7]], [2, 3])
    many = columns([[0, 4, 8], [5, 6, 7]] * 5000, [2, 3] * 5000)
    for device, predictor in PREDICTORS.items():
        expected = predictor.predict(one).mean_ms
        np.testing.assert_array_equal(predictor.predict(many).mean_ms, np.tile(expected, 5000), err_msg=device)


def test_models_and_their_columns_cost_the_same_at_every_batch() -> None:
    candidates = columns([[0, 4, 8], [5, 6, 7]], [2, 3])
    specs = [candidates.model(n) for n in range(2)]
    by_column, by_model = (predict_candidates(COST_MODEL, one, (8, BATCH), "ipu") for one in (candidates, specs))
    assert [one.batch for one in by_model] == [8, BATCH]
    for left, right in zip(by_column, by_model, strict=True):
        np.testing.assert_array_equal(left.mean_ms, right.mean_ms)


def test_what_no_candidate_chooses_need_not_be_known() -> None:
    rows = profiles_of([one.component for one in components_of(columns([[0, 0, 0]], [0]).model(0), 8)])
    known = CostModel(models={"cpu": fit_device_model(rows, work_of)})
    assert predict_candidates(known, columns([[0, 0, 0]], [0]), (8,), "cpu")[0].mean_ms[0] > 0
    with pytest.raises(UnknownNameError, match=r"component: unknown name 'dhe_encoder\(uniform\)'"):
        predict_candidates(known, columns([[0, 0, 4]], [0]), (8,), "cpu")


def test_choices_that_make_no_model_are_refused() -> None:
    with pytest.raises(InputError, match=r"dot interaction needs width 8 for every feature"):
        columns([[0, 0, 11]], [0])
    with pytest.raises(InputError, match=r"embedding_NF must be in 0 to 12"):
        columns([[0, 0, 13]], [2])
    with pytest.raises(InputError, match=r"embedding_NF must have shape \(2, 3\), but has \(1, 3\)"):
        columns([[0, 0, 0]], [2, 2])
    with pytest.raises(InputError, match=r"needs at least one batch"):
        predict_candidates(COST_MODEL, columns([[0, 0, 0]], [0]), (), "plain")


def test_models_of_other_features_have_no_common_columns() -> None:
    spec = columns([[0, 0, 0]], [0]).model(0)
    other = ModelSpec(
        name="other",
        dense_features=0,
        features=FEATURES[:1],
        embeddings=EMBEDDINGS[:1],
        bottom_mlp=(),
        top_mlp=(1,),
    )
    with pytest.raises(InputError, match=r"'other' has other features than 'candidate-0'"):
        candidates_of([spec, other])
    with pytest.raises(InputError, match=r"needs at least one model"):
        candidates_of([])


def test_the_interactions_are_all_drawn() -> None:
    interactions: set[Interaction] = {one.interaction for one in DENSE}
    assert interactions == {"dot", "concat", "fm"}
    placed = components_of(columns([[0, 4, 8]], [2]).model(0), 4096)
    assert in_context(placed, work_of) != placed
