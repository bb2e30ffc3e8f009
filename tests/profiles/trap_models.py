"""Models with what profilers trip over, and how they are profiled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions
from profiles.providers.target import InputBatch
from profiles.records import ComponentProfile
from profiles.walk import profile_model
from profiles.walk.capture import CapturedCall, Observation, observe
from profiles.walk.preservation import preserved
from profiles.walk.tree import module_tree

QUICK = ProfileOptions(threads=1, seconds_per_visit=1e-4, budget_s=0)


def observed(model: nn.Module, *args: Any, **kwargs: Any) -> Mapping[str, Observation]:
    """What one pass shows, by path."""
    nodes = module_tree(model)
    with preserved(model) as held:
        seen = observe(model, nodes, (InputBatch(args=args, kwargs=kwargs),), held=held)
    return {node.path: one for node, one in zip(nodes, seen, strict=True)}


def only_call(model: nn.Module, path: str, *args: Any, **kwargs: Any) -> CapturedCall:
    (call,) = observed(model, *args, **kwargs)[path].calls
    return call


def rows_of(model: nn.Module, *args: Any, **kwargs: Any) -> Mapping[str, ComponentProfile]:
    return by_path(profile_model(model, args, kwargs, options=QUICK))


def by_path(profile: ModelProfile) -> Mapping[str, ComponentProfile]:
    return {row.path: row for row in profile.rows}


class Passing(nn.Module):
    """Hands what it is given to its child."""

    def __init__(self, child: nn.Module) -> None:
        super().__init__()
        self.child = child

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.child(*args, **kwargs)


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


@dataclass(frozen=True)
class Features:
    dense: torch.Tensor
    more: dict[str, Any] = field(default_factory=dict)


class Opaque:
    """An object of which nothing is known."""

    __slots__ = ("hidden", "next")

    def __init__(self, hidden: torch.Tensor) -> None:
        self.hidden = hidden
        self.next = self


class Summing(nn.Module):
    """Adds up all tensors that it is given, however they are wrapped, through a layer."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        from profiles.nested import tensors_of

        output: torch.Tensor = self.layer(sum(tensor.float() for tensor in tensors_of((args, kwargs))))
        return output
