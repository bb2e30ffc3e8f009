from dataclasses import replace

import pytest
import torch
from torch import nn

from profiles.counting.traffic import state_bytes
from profiles.errors import InputError, MeasurementError
from profiles.nested import tensors_of
from profiles.preprocessors.dtype import CastDtype
from profiles.providers.target import InputBatch, Target
from tests.profiles.preprocessors.targets import tagger_target, two_layers


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(9, 4), nn.Linear(4, 9, bias=False)
        self.head.weight = self.table.weight
        self.scale = torch.ones(4)
        self.register_buffer("steps", torch.tensor([3]))

    def forward(self, ids_B: torch.Tensor) -> torch.Tensor:
        scores_BR: torch.Tensor = self.head(self.table(ids_B) * self.scale)
        return scores_BR


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_weights_and_inputs_are_cast_and_the_model_runs(dtype: str) -> None:
    target = CastDtype(dtype).prepare_target(two_layers())
    assert target.model(*target.args).dtype is getattr(torch, dtype)


def test_whole_numbers_stay_and_statistics_are_cast() -> None:
    target = CastDtype("float64").prepare_target(tagger_target())
    assert target.args[0].dtype is torch.int64
    norm = target.model.get_submodule("norm")
    assert norm.running_mean.dtype is torch.float64
    assert norm.num_batches_tracked.dtype is torch.int64


def test_tied_weights_stay_tied_and_attributes_are_cast() -> None:
    model = Tied()
    target = Target(name="tied", model=model, batches=(InputBatch(args=(torch.arange(3),)),))
    cast = CastDtype("bfloat16").prepare_target(target).model
    assert cast.get_submodule("table").weight is cast.get_submodule("head").weight
    assert cast.scale.dtype is torch.bfloat16
    assert cast.steps is not model.steps
    assert state_bytes(cast) == 9 * 4 * 2 + 8


def test_true_bytes_are_those_of_the_other_type() -> None:
    target = replace(two_layers(), true_parameter_bytes={"0": 8_000, "": 8_000})
    assert CastDtype("bfloat16").prepare_target(target).true_parameter_bytes == {"0": 4_000, "": 4_000}


def test_batches_of_other_sizes_are_cast_too() -> None:
    prepared = CastDtype("float64").prepare_target(tagger_target())
    assert prepared.resized
    assert {tensor.dtype for tensor in tensors_of(prepared.resized(2).args)} == {torch.int64, torch.float64}


def test_a_model_that_cannot_be_copied_is_named() -> None:
    target = two_layers()
    target.model.__dict__["stream"] = (part for part in range(3))
    with pytest.raises(InputError, match="the model cannot be copied"):
        CastDtype("bfloat16").prepare_target(target)


def test_a_model_for_which_there_is_no_room_is_refused() -> None:
    huge = nn.Embedding(1, 1)
    huge.weight = nn.Parameter(torch.ones(1, 1).expand(1 << 45, 1), requires_grad=False)
    target = Target(name="huge", model=huge, batches=(InputBatch(args=(torch.arange(3),)),))
    with pytest.raises(MeasurementError, match="no room beside the model"):
        CastDtype("float64").prepare_target(target)
