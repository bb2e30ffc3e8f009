from collections import deque
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

from profiles.nested import signature, tensors_of


@dataclass(frozen=True, slots=True)
class Features:
    dense: torch.Tensor
    ids: list[torch.Tensor] = field(default_factory=list)
    name: str = "x"


class Holder:
    """An object that holds itself, a model, a class and a tensor."""

    def __init__(self) -> None:
        self._values = torch.ones(3)
        self.me, self.model, self.kind = self, nn.Linear(2, 2), torch.Tensor


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = torch.ones(1)


@pytest.mark.parametrize(
    ("value", "sizes"),
    [
        (((torch.ones(1), [torch.ones(2)]), {"c": torch.ones(3), "d": 1}), [1, 2, 3]),
        (Features(torch.ones(4), [torch.ones(5)]), [4, 5]),
        (Holder(), [3]),
        (Slotted(), [1]),
        (deque([torch.ones(2)]), [2]),
        ("text", []),
    ],
)
def test_tensors_are_found_in_containers_and_objects(value: Any, sizes: list[int]) -> None:
    assert [len(tensor) for tensor in tensors_of(value)] == sizes


def test_an_object_that_is_there_twice_is_looked_into_once() -> None:
    holder = Holder()
    assert len(list(tensors_of([holder, holder]))) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((torch.ones(2, 3), None), "(float32[2, 3], None)"),
        ([1, "a", True], "(1, 'a', True)"),
        ({"x": torch.ones(1, dtype=torch.int64)}, "{x: int64[1]}"),
        (object(), "object"),
        (Features(torch.ones(4)), "Features{dense: float32[4]}"),
        (Holder(), "Holder{values: float32[3]}"),
        (torch.ones(1, 3).expand(2, 3), "float32[2, 3] strides [0, 1]"),
        (torch.eye(2).to_sparse(), "float32[2, 2] sparse_coo"),
    ],
)
def test_signatures_name_shapes_values_layouts_and_types(value: Any, text: str) -> None:
    assert signature(value) == text


def test_a_container_that_holds_itself_has_a_signature() -> None:
    value: list[Any] = [1]
    value.append(value)
    assert signature(value) == "(1, ...)"
