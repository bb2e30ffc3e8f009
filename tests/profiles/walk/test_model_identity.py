import torch
from torch import nn

from profiles.profile_options import ProfileOptions
from profiles.providers.target import InputBatch, Target
from profiles.walk import walking


class Printing(nn.Module):
    """What its text says of it holds an address."""

    def forward(self, x_ND: torch.Tensor) -> torch.Tensor:
        return x_ND

    def extra_repr(self) -> str:
        return repr(object())


def identity(*layers: nn.Module, samples: int = 2, width: int = 4, dtype: torch.dtype = torch.float32) -> str:
    inputs = InputBatch(args=(torch.ones(samples, width, dtype=dtype),))
    target = Target(name="", model=nn.Sequential(*layers).to(dtype), batches=(inputs,))
    with walking(target, options=ProfileOptions(threads=1, budget_s=0.0)) as walk:
        return walk.identity


def test_a_model_that_is_built_again_is_the_same() -> None:
    assert identity(nn.Linear(4, 4), Printing()) == identity(nn.Linear(4, 4), Printing())


def test_modules_shapes_options_and_inputs_tell_models_apart() -> None:
    different = [
        identity(nn.Linear(4, 4), nn.ReLU()),
        identity(nn.Linear(4, 4), nn.GELU()),
        identity(nn.Linear(4, 4), nn.GELU(approximate="tanh")),
        identity(nn.Linear(4, 5), nn.ReLU()),
        identity(nn.Linear(4, 4), nn.ReLU(), samples=3),
        identity(nn.Linear(4, 4), nn.ReLU(), dtype=torch.float64),
        identity(nn.ReLU(), nn.Linear(4, 4)),
        identity(nn.Linear(5, 4), nn.ReLU(), width=5),
    ]
    assert len(set(different)) == len(different)
