from collections.abc import Sequence

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from profiles.component import Component, make_component
from profiles.errors import InputError, UnknownNameError
from profiles.providers import ComponentProvider
from profiles.testing import ComponentProviderContract
from representations.phases import DENSE_OPTIMIZERS, backward_of, forward_of, optimizer_of
from representations.provider import RecommendationProvider
from representations.work import work_of

TABLE: dict[str, int | float | str] = {"rows": 60, "dim": 4, "pooling": 2.0, "zipf": 0.5, "backend": "torch"}
CORES: dict[str, int | float | str] = {
    "cores": "3",
    "rank": 4,
    "p_0": 3,
    "p_1": 3,
    "p_2": 3,
    "q_0": 2,
    "q_1": 2,
    "q_2": 2,
}
LINEAR = make_component("linear", 16, {"in_features": 8, "out_features": 12})
LOOKUP = make_component("embedding", 16, TABLE)
GROUPS = [make_component("embedding_group", 16, TABLE | {"tables": 3, "backend": b}) for b in ("torchrec", "fbgemm")]
OF_ACTIVATIONS = [
    *(
        make_component("elementwise", 16, {"function": f, "width": 8})
        for f in ("relu", "mish", "batch_norm", "multiply")
    ),
    make_component("elementwise", 16, {"function": "sum_pool", "width": 8, "pooling": 2.0}),
    make_component("interaction", 16, {"function": "dot", "vectors": 5, "dim": 4}),
    make_component("interaction", 16, {"function": "fm", "width": 20}),
]
PROJECTION = make_component("projection", 16, {"in_features": 8, "out_features": 12})
BACKWARD = [
    *(backward_of(one) for one in (LINEAR, PROJECTION, LOOKUP, *GROUPS, *OF_ACTIVATIONS)),
    backward_of(LINEAR, input_gradient=False),
    backward_of(make_component("tensor_train", 16, CORES)),
]
STEPS = [*(optimizer_of(LINEAR, name) for name in DENSE_OPTIMIZERS), optimizer_of(LOOKUP), optimizer_of(GROUPS[0])]


class TestTrainingPasses(ComponentProviderContract):
    def provider(self) -> ComponentProvider:
        return RecommendationProvider()

    def components(self) -> Sequence[Component]:
        return [*BACKWARD, *STEPS]


def called_flops(component: Component) -> int:
    built = RecommendationProvider().build(component, 0)
    with torch.no_grad():
        built.module(*built.args)
        with FlopCounterMode(display=False) as counter:
            built.module(*built.args)
    return int(counter.get_total_flops())


@pytest.mark.parametrize("component", [*BACKWARD, *STEPS], ids=lambda one: f"{one.phase} {one.kind}")
def test_the_call_is_the_pass_alone(component: Component) -> None:
    assert called_flops(component) == work_of(component).flops


def test_a_first_layer_needs_half_the_products() -> None:
    assert work_of(backward_of(LINEAR)).flops == 2 * work_of(LINEAR).flops
    assert work_of(backward_of(LINEAR, input_gradient=False)).flops == work_of(LINEAR).flops


def test_gradients_are_those_of_the_module() -> None:
    built = RecommendationProvider().build(backward_of(LINEAR), 0)
    (inputs,) = built.args
    of_inputs, of_weight, of_bias = built.module(*built.args)
    linear = built.module.get_submodule("module")
    weight = linear.get_parameter("weight")
    assert torch.allclose(of_inputs, weight.sum(0).expand(16, 8))
    assert torch.allclose(of_weight, inputs.sum(0).expand(12, 8))
    assert torch.equal(of_bias, torch.full((12,), 16.0))
    assert not inputs.requires_grad


def test_table_gradients_are_sparse_and_the_step_moves_touched_rows_alone() -> None:
    (gradient,) = RecommendationProvider().build(backward_of(LOOKUP), 0).module(*(built := _lookup_args()))
    assert gradient.is_sparse
    step = RecommendationProvider().build(optimizer_of(LOOKUP), 0).module
    before = step.get_parameter("module.weight").detach().clone()
    step(*built)
    moved = (step.get_parameter("module.weight") != before).any(dim=1)
    assert set(moved.nonzero().flatten().tolist()) == set(built[0].tolist())


def _lookup_args() -> tuple[torch.Tensor, ...]:
    return RecommendationProvider().build(backward_of(LOOKUP), 0).args


def test_fbgemm_s_backward_pass_updates_its_rows() -> None:
    built = RecommendationProvider().build(backward_of(GROUPS[1]), 0)
    weight = built.module.get_parameter("module.weight")
    before = weight.detach().clone()
    built.module(*built.args)
    built.module(*built.args)
    assert not torch.equal(weight, before)


def test_a_dense_step_costs_the_same_at_any_batch() -> None:
    assert optimizer_of(LINEAR).batch == 1
    assert work_of(optimizer_of(LINEAR, "adam")).bytes_moved == 7 * 4 * (8 + 1) * 12


def test_the_forward_pass_is_found_again() -> None:
    assert forward_of(backward_of(LINEAR)) == LINEAR
    assert forward_of(optimizer_of(LOOKUP)) == LOOKUP


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("dhe_encoder", {"k": 4, "rows": 9, "transform": "uniform"}),
        ("concat", {"width": 8, "parts": 2}),
        ("elementwise", {"function": "add", "width": 8}),
        ("embedding_group", TABLE | {"tables": 3, "backend": "quantised"}),
    ],
)
def test_passes_that_do_not_exist_are_refused(kind: str, shape: dict[str, int | float | str]) -> None:
    component = make_component(kind, 4, shape)
    with pytest.raises(InputError, match=r"no backward pass of its own|are not trained"):
        backward_of(component)
    with pytest.raises(InputError, match="no optimizer's step of its own"):
        optimizer_of(component)


def test_a_wrong_wish_names_what_there_is() -> None:
    with pytest.raises(InputError, match="phase must be 'forward', but got 'backward'"):
        optimizer_of(backward_of(LINEAR))
    with pytest.raises(InputError, match="row-wise Adagrad, but got 'adam'"):
        optimizer_of(LOOKUP, "adam")
    with pytest.raises(UnknownNameError, match="optimizer: unknown name 'lion'"):
        optimizer_of(LINEAR, "lion")  # type: ignore[arg-type]  # what a file may say
    with pytest.raises(UnknownNameError, match="component phase: unknown name 'sideways'"):
        work_of(make_component("linear", 1, {"in_features": 1, "out_features": 1}, phase="sideways"))
    with pytest.raises(InputError, match="has no pass 'backward'"):
        work_of(make_component("concat", 1, {"width": 8, "parts": 2}, phase="backward"))
