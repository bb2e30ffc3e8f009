import threading
from collections import UserDict, defaultdict, deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from profiles.nested import tensors_of
from profiles.walk.input_copies import clone_inputs, storage_key


class Pair(NamedTuple):
    left: torch.Tensor
    right: int


@dataclass(frozen=True)
class Features:
    dense: torch.Tensor
    lock: Any = None


def memory_bytes(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def test_clones_keep_their_structure() -> None:
    lock = threading.Lock()
    value = {"pair": Pair(torch.ones(2), 3), "list": [torch.zeros(1)], "lock": lock, "set": {1}}
    copy = clone_inputs(value)
    assert isinstance(copy["pair"], Pair)
    assert copy["pair"].left is not value["pair"].left  # type: ignore[attr-defined]  # a dict of mixed values
    assert torch.equal(copy["pair"].left, torch.ones(2))
    assert copy["lock"] is lock
    assert copy["set"] == {1}


def test_objects_are_rebuilt_around_copied_tensors_though_part_of_them_cannot_be_copied() -> None:
    value = Features(torch.ones(2), threading.Lock())
    copy = clone_inputs(value)
    assert torch.equal(copy.dense, value.dense)
    assert copy.dense is not value.dense
    assert copy.lock is value.lock


@pytest.mark.parametrize(
    "value",
    [
        UserDict(x=torch.ones(2)),
        defaultdict(list, x=[torch.ones(2)]),
        deque([torch.ones(2, requires_grad=True) * 2], maxlen=3),
        SimpleNamespace(x={torch.ones(2)}),
    ],
)
def test_containers_of_all_kinds_are_rebuilt(value: Any) -> None:
    copy = clone_inputs(value)
    assert type(copy) is type(value)
    (before,), (after,) = tensors_of(value), tensors_of(copy)
    assert torch.equal(before, after)
    assert before.data_ptr() != after.data_ptr()


def test_an_object_that_holds_itself_is_copied() -> None:
    value: dict[str, Any] = {"x": torch.ones(1)}
    value["me"] = value
    copy = clone_inputs(value)
    assert copy["me"] is copy
    assert copy["x"] is not value["x"]


def test_an_expanded_tensor_stays_as_small_as_it_is() -> None:
    small = torch.arange(8.0).expand(1000, 8)
    copy = clone_inputs(small)
    assert copy.stride() == (0, 1)
    assert memory_bytes(copy) == 32
    assert torch.equal(copy, small)


def test_a_slice_of_a_large_tensor_is_copied_without_the_rest() -> None:
    rows = torch.arange(10_000.0).reshape(1000, 10)[500:502]
    copy = clone_inputs(rows)
    assert torch.equal(copy, rows)
    assert memory_bytes(copy) <= 80 + 16


def test_what_shares_memory_still_does() -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    copy, first, as_bytes, again = clone_inputs([whole, whole[1:].T, whole.view(torch.uint8), whole])
    copy[1, 0] = -1.0
    assert first[0, 0] == -1.0
    assert again is copy
    assert torch.equal(as_bytes.view(torch.float32).reshape(3, 4), copy)
    assert whole[1, 0] == 4.0


def test_the_model_s_own_memory_is_not_copied() -> None:
    weight = nn.Parameter(torch.ones(4, 4))
    keep = {key for key in [storage_key(weight)] if key}
    assert clone_inputs(weight, keep) is weight
    view = clone_inputs(weight[1:], keep)
    assert view.data_ptr() == weight[1:].data_ptr()
    assert view.is_leaf
    assert view.requires_grad


def test_copies_require_gradients_where_the_originals_do() -> None:
    leaf = torch.ones(2, requires_grad=True)
    inner, fixed = clone_inputs((leaf * 2, torch.ones(2)))
    assert inner.requires_grad
    assert inner.is_leaf
    assert not fixed.requires_grad


def test_a_generator_is_copied_with_its_state() -> None:
    generator = torch.Generator().manual_seed(3)
    copy = clone_inputs(generator)
    drawn = torch.rand(2, generator=copy)
    assert torch.equal(drawn, torch.rand(2, generator=generator))


def test_tensors_of_other_layouts_are_cloned() -> None:
    values = [torch.eye(2).to_sparse(), torch.ones(2, dtype=torch.complex64).conj(), torch.empty(0), nn.Parameter()]
    for value, copy in zip(values, clone_inputs(values), strict=True):
        assert copy is not value
        assert copy.shape == value.shape


def test_modules_among_the_inputs_are_shared() -> None:
    linear = nn.Linear(2, 2)
    assert clone_inputs({"layer": linear})["layer"] is linear
