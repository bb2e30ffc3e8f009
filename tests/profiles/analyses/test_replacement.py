import pytest
import torch
from torch import nn

from profiles.analyses.replacement import module_at, with_replaced
from profiles.errors import InputError
from tests.profiles.small_models import Net, net_inputs


def test_only_what_holds_the_replaced_module_is_another_object() -> None:
    model = Net()
    other = with_replaced(model, {"blocks.0.activation": nn.GELU()})
    assert isinstance(module_at(other, "blocks.0.activation"), nn.GELU)
    assert isinstance(module_at(model, "blocks.0.activation"), nn.ReLU)
    assert module_at(other, "blocks.1") is module_at(model, "blocks.1")
    assert module_at(other, "blocks.0.linear") is module_at(model, "blocks.0.linear")
    assert other.get_parameter("shared.weight") is model.get_parameter("shared.weight")


def test_the_replaced_module_is_what_runs() -> None:
    (args, kwargs), model = net_inputs(), Net().eval()
    other = with_replaced(model, {"norm": nn.Identity(), "table": nn.EmbeddingBag(100, 8, mode="sum")})
    assert not torch.equal(other(*args, **kwargs), model(*args, **kwargs))


def test_a_module_that_stands_in_several_places_is_replaced_in_all() -> None:
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.Sequential(nn.ReLU(), shared))
    other = with_replaced(model, {"0": nn.Identity()})
    assert torch.equal(other(-torch.ones(1, 4)), torch.zeros(1, 4))


def test_the_model_itself_can_be_replaced() -> None:
    replacement = nn.Identity()
    assert with_replaced(nn.ReLU(), {"": replacement}) is replacement


def test_paths_that_are_not_there_or_inside_one_another_are_refused() -> None:
    with pytest.raises(InputError, match="path 'nowhere': there is no such module in the Net"):
        with_replaced(Net(), {"nowhere": nn.Identity()})
    with pytest.raises(InputError, match=r"path 'blocks\.0': is inside 'blocks'"):
        with_replaced(Net(), {"blocks.0": nn.Identity(), "blocks": nn.Identity()})
