import copy
import math
from typing import Any

import pytest
import torch
from torch import nn

from profiles.analyses.numeric import compare_models, compare_modules, tolerance_for
from profiles.errors import InputError
from profiles.providers import InputBatch
from tests.profiles.profilers.subjects import subjects_of
from tests.profiles.small_models import Net, net_inputs


class Reordered(nn.Linear):
    """Adds up its inputs half by half, from the back."""

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        half = self.in_features // 2
        back_BF = x_BF[:, half:].flip(1) @ self.weight[:, half:].flip(1).T
        output_BF: torch.Tensor = back_BF + x_BF[:, :half] @ self.weight[:, :half].T + self.bias
        return output_BF


class Returning(nn.Module):
    def __init__(self, *outputs: torch.Tensor) -> None:
        super().__init__()
        self.outputs = outputs

    def forward(self, _x: torch.Tensor) -> Any:
        return self.outputs


def deep(width: int = 256, layers: int = 6) -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(*(module for _ in range(layers) for module in (nn.Linear(width, width), nn.ReLU()))).eval()


def reordered(model: nn.Sequential) -> nn.Sequential:
    other = copy.deepcopy(model)
    for name, module in model.named_children():
        if isinstance(module, nn.Linear):
            replacement = Reordered(module.in_features, module.out_features)
            replacement.load_state_dict(module.state_dict())
            other._modules[name] = replacement
    return other


BATCH = InputBatch(args=(torch.randn(16, 256, generator=torch.Generator().manual_seed(2)),))


def test_a_reordered_sum_passes_though_it_is_not_equal_bit_by_bit() -> None:
    model = deep()
    found = compare_models(model, reordered(model), BATCH)
    assert (found.is_equal, found.first_differing_path) == (True, None)
    worst = found.rows[-1].worst
    assert worst is not None
    assert 0 < worst.rms_error < worst.tolerance


def test_of_a_planted_fault_the_module_is_named_and_the_verdict_is_no() -> None:
    model = deep()
    faulty = copy.deepcopy(model)
    with torch.no_grad():
        faulty.get_parameter("4.weight")[3, 5] += 0.05
    found = compare_models(model, faulty, BATCH)
    assert (found.is_equal, found.first_differing_path) == (False, "4")
    assert [row.path for row in found.rows if row.is_equal] == ["0", "1", "2", "3"]


def test_what_a_parent_does_itself_wrongly_is_the_parent_s_fault() -> None:
    class Doubling(Net):
        def forward(self, x_BF: torch.Tensor, *, ids_BP: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(x_BF, ids_BP=ids_BP)

    (args, kwargs), model, other = net_inputs(), Net().eval(), Doubling().eval()
    other.load_state_dict(model.state_dict())
    found = compare_models(model, other, InputBatch(args=args, kwargs=kwargs))
    assert found.first_differing_path == ""


def test_random_layers_draw_alike_in_both_and_the_models_are_left_as_they_were() -> None:
    (args, kwargs), model = net_inputs(), Net()
    state, other = torch.get_rng_state(), copy.deepcopy(model)
    found = compare_models(model, other, InputBatch(args=args, kwargs=kwargs), tolerance=0.0)
    assert found.is_equal
    assert torch.equal(torch.get_rng_state(), state)
    assert model.norm.num_batches_tracked == 0
    assert not any(module._forward_hooks for module in model.modules())
    assert [row.call for row in found.rows if row.path == "shared"] == [0, 1]


def test_a_replaced_module_is_compared_and_modules_of_one_side_are_told() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Identity())
    other = nn.Sequential(model[0], nn.Sequential(nn.Identity()))
    found = compare_models(model, other, InputBatch(args=(torch.ones(2, 4),)))
    assert found.is_equal
    assert found.notes == ("not called alike in both: 1.0",)


@pytest.mark.parametrize(
    ("one", "other", "problem"),
    [
        (torch.ones(2), torch.ones(3), "shape (2,) against (3,)"),
        (torch.ones(2), torch.tensor([1.0, math.nan]), "0 elements not finite against 1"),
        (torch.tensor([math.inf]), torch.tensor([-math.inf]), "infinities or NaNs in other places"),
    ],
)
def test_what_no_error_measures_is_a_problem(one: torch.Tensor, other: torch.Tensor, problem: str) -> None:
    found = compare_models(Returning(one), Returning(other), InputBatch(args=(one,)))
    assert not found.is_equal
    assert found.rows[0].outputs[0].problem == problem


def test_another_number_of_outputs_is_a_problem() -> None:
    one = torch.ones(2)
    found = compare_models(Returning(one), Returning(one, one), InputBatch(args=(one,)))
    assert [output.problem for output in found.rows[0].outputs] == ["", "1 outputs against 2"]


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        (torch.tensor([3, 4]), torch.tensor([3, 4]), True),
        (torch.tensor([3, 4]), torch.tensor([3, 5]), False),
        (torch.tensor([math.nan, 1.0]), torch.tensor([math.nan, 1.0]), True),
        (torch.zeros(2), torch.zeros(2), True),
        (torch.zeros(0), torch.zeros(0), True),
        (torch.tensor([1 + 1j]), torch.tensor([1 - 1j]), False),
        (torch.eye(2).to_sparse(), torch.eye(2), True),
    ],
)
def test_integers_complex_numbers_and_sparse_tensors(one: torch.Tensor, other: torch.Tensor, *, is_equal: bool) -> None:
    found = compare_models(Returning(one), Returning(other), InputBatch(args=(one,)))
    assert found.is_equal is is_equal


def test_errors_are_relative_to_the_size_of_the_output() -> None:
    one, other = torch.tensor([100.0, 100.0]), torch.tensor([101.0, 100.0])
    (error,) = compare_models(Returning(one), Returning(other), InputBatch(args=(one,)), tolerance=0.1).rows[0].outputs
    assert error.max_error == pytest.approx(1 / 100.5, rel=1e-2)
    assert error.rms_error == pytest.approx(error.max_error / math.sqrt(2))
    assert error.is_equal


def test_the_tolerance_grows_with_the_sum_and_the_coarseness_of_the_dtype() -> None:
    assert tolerance_for(torch.float32, 400) == pytest.approx(2 * tolerance_for(torch.float32, 100))
    assert tolerance_for(torch.bfloat16, 100) == tolerance_for(torch.bfloat16, 1) > tolerance_for(torch.float16, 1)
    assert tolerance_for(torch.int64, 100) == 0.0
    with pytest.raises(InputError, match="tolerance must be >= 0"):
        compare_models(nn.Identity(), nn.Identity(), BATCH, tolerance=-1.0)


def test_a_half_precision_version_passes_as_such() -> None:
    class Half(nn.Linear):
        def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return super().forward(x_BF)

    model, half = nn.Linear(256, 256), Half(256, 256)
    half.load_state_dict(model.state_dict())
    assert compare_models(model, half, BATCH).is_equal


def test_two_versions_of_a_submodule_on_its_captured_inputs() -> None:
    model = deep()
    subject = subjects_of(model, *BATCH.args)["2"]
    other = copy.deepcopy(subject.module)
    (row,) = compare_modules(subject.module, other, subject)
    assert (row.path, row.call, row.is_equal) == ("2", 0, True)
    with torch.no_grad():
        other.get_parameter("bias")[0] += 1
    assert not compare_modules(subject.module, other, subject)[0].is_equal


def test_generators_of_devices_where_nothing_is_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def seed_all(_seed: int) -> None:
        raise AssertionError("seeds every device")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", seed_all)
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    assert compare_models(model, model, InputBatch(args=(torch.ones(2, 4),))).is_equal
