import torch
from torch import nn

from profiles.profilers.sizes import Sizes
from tests.profiles.profilers.subjects import findings_of, subjects_of


def test_tied_parameters_count_once_and_frozen_ones_are_not_trainable() -> None:
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4), nn.BatchNorm1d(4))
    model[1].weight = model[0].weight
    model[1].bias.requires_grad_(False)
    found = findings_of(Sizes.from_text(""), subjects_of(model, torch.ones(2, 4)))[""].figures
    assert found == {"parameters": 16 + 4 + 8, "trainable_parameters": 16 + 8, "buffer_bytes": 4 * 8 + 8}


def test_views_of_one_storage_are_told_apart() -> None:
    model = nn.Module()
    both = torch.zeros(8)
    model.register_parameter("first", nn.Parameter(both[:4]))
    model.register_parameter("second", nn.Parameter(both[4:]))
    model.forward = lambda x: x
    assert findings_of(Sizes(), subjects_of(model, torch.ones(1)))[""].figures["parameters"] == 8
