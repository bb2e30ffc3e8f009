from itertools import pairwise

import pytest
from torch.utils.flop_counter import FlopCounterMode

from profiles.component import make_component
from profiles.errors import InputError
from representations.build import build_model
from representations.components import components_of, model_work, work_of
from representations.presets import get_preset
from representations.specs import ModelSpec
from representations.target import random_inputs
from tests.representations.models import HYBRID, MODELS, TABLE, small_model

HASHES = ("dhe_encoder", "id_split", "robe")


def called_leaves(spec: ModelSpec, batch: int) -> list[str]:
    model = build_model(spec).eval()
    calls: list[str] = []

    def record(path: str) -> object:
        return lambda *_: calls.append(path)

    for path, module in model.named_modules():
        if not any(module.children()):
            module.register_forward_hook(record(path))
    model(*random_inputs(spec, batch))
    return calls


@pytest.mark.parametrize("spec", MODELS, ids=lambda spec: spec.representation)
def test_components_are_the_called_modules_in_execution_order(spec: ModelSpec) -> None:
    assert [placed.path for placed in components_of(spec, 4)] == called_leaves(spec, 4)


@pytest.mark.parametrize("spec", MODELS, ids=lambda spec: spec.representation)
def test_parameter_bytes_add_up_to_the_spec_and_the_built_model(spec: ModelSpec) -> None:
    model = build_model(spec)
    built = sum(t.numel() * t.element_size() for t in (*model.parameters(), *model.buffers()))
    assert model_work(spec, 4).parameter_bytes == spec.parameter_bytes == built


@pytest.mark.parametrize("spec", MODELS, ids=lambda spec: spec.representation)
def test_matrix_flops_equal_what_torch_counts(spec: ModelSpec) -> None:
    hashing = sum(work_of(p.component).flops for p in components_of(spec, 4) if p.component.kind in HASHES)
    model = build_model(spec).eval()
    with FlopCounterMode(display=False) as counter:
        model(*random_inputs(spec, 4))
    assert model_work(spec, 4).flops - hashing == counter.get_total_flops()


@pytest.mark.parametrize(
    ("k", "widths", "dim", "megaflops"),
    [(128, (128,), 16, 0.99), (1024, (128,), 16, 7.14), (2048, (512, 256), 16, 62.0), (1024, (512, 256), 64, 35.1)],
)
def test_the_flops_of_26_dhes_are_the_derived_ones(k: int, widths: tuple[int, ...], dim: int, megaflops: float) -> None:
    sizes = (k, *widths, dim)
    layers = [make_component("linear", 1, {"in_features": a, "out_features": b}) for a, b in pairwise(sizes)]
    encoder = make_component("dhe_encoder", 1, {"k": k, "rows": 10, "transform": "uniform"})
    total = 26 * sum(work_of(component).flops for component in (*layers, encoder)) / 1e6
    assert total == pytest.approx(megaflops, abs=0.05 if megaflops > 10 else 0.006)


def test_the_bench_model_has_its_published_flops() -> None:
    assert model_work(get_preset("dlrm-bench"), 256).flops == 1_192_919_040


def test_ids_are_sent_once_per_feature() -> None:
    work = model_work(small_model(HYBRID, TABLE, pooling=2.0, interaction="concat"), 10)
    assert work.input_bytes == 10 * 2 * 4 + 10 * 2 * 2 * 8


def test_skewed_ids_touch_fewer_rows() -> None:
    spec = small_model(TABLE, TABLE)
    uniform, skewed = model_work(spec, 20), model_work(spec, 20, zipf={"f0": 1.5})
    assert skewed.bytes_moved < uniform.bytes_moved


def test_components_name_their_feature() -> None:
    named = {placed.path: placed.feature for placed in components_of(small_model(TABLE, HYBRID), 4)}
    assert named["embeddings.1.dhe.decoder.0"] == "f1"
    assert named["interaction"] == ""


def test_a_batch_of_none_is_an_error() -> None:
    with pytest.raises(InputError, match="batch must be >= 1, but got 0"):
        components_of(small_model(TABLE), 0)


def test_work_names_what_is_missing_or_unknown() -> None:
    with pytest.raises(InputError, match="component 'linear': shape lacks 'out_features'"):
        work_of(make_component("linear", 1, {"in_features": 3}))
    with pytest.raises(InputError, match="component 'linear': shape lacks 'input_gradient'"):
        work_of(make_component("linear", 1, {"in_features": 3, "out_features": 1}, phase="backward"))
    with pytest.raises(InputError, match="component kind: unknown name 'liner'"):
        work_of(make_component("liner", 1))


def test_a_linear_layer_moves_inputs_weights_and_outputs_once() -> None:
    work = work_of(make_component("linear", 5, {"in_features": 3, "out_features": 2}))
    assert work.bytes_moved == 4 * (5 * 3 + 5 * 2 + (3 + 1) * 2)


def test_a_dot_interaction_moves_its_vectors_once_and_copies_the_first() -> None:
    work = work_of(make_component("interaction", 2, {"function": "dot", "vectors": 3, "dim": 8}))
    assert work.bytes_moved == 2 * (3 * 8 + 8 + 3) * 4
