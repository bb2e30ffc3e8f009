import numpy as np
import pytest
import torch
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from profiles.errors import InputError
from representations.inputs import check_dense, check_inputs
from representations.target import random_inputs
from tests.representations.models import TABLE, small_model

SPEC = small_model(TABLE, TABLE)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_names_feature_row_and_value(value: float) -> None:
    dense = np.array([[0, 1], [2, value]], dtype=np.float32)
    with pytest.raises(InputError, match=rf"dense feature 'delay', row 8: must be finite, but got {value}"):
        check_dense(dense, ("distance", "delay"), first_row=7)


def test_a_column_too_few_is_named() -> None:
    with pytest.raises(InputError, match=r"dense features: must be of shape \[N, 2\], but got \[3, 1\]"):
        check_dense(np.zeros((3, 1), dtype=np.float32), ("distance", "delay"))


@pytest.mark.parametrize("pooling", [1.0, 3.0])
def test_good_inputs_pass(pooling: float) -> None:
    spec = small_model(TABLE, TABLE, pooling=pooling)
    check_inputs(spec, *random_inputs(spec, 6))


def test_bad_inputs_of_every_form_are_named() -> None:
    dense, ids = random_inputs(SPEC, 4)
    assert isinstance(ids, torch.Tensor)
    far = ids.clone()
    far[2, 1] = 40
    jagged = KeyedJaggedTensor(keys=["f1", "f0"], values=torch.tensor([0, 1, 30]), lengths=torch.tensor([1, 0, 1, 1]))
    for bad, message in (
        (far, r"feature 'f1', row 2: id must be in \[0, 40\), but got 40"),
        (list(far.unbind(1)), r"feature 'f1', row 2: id must be in \[0, 40\), but got 40"),
        (jagged, r"feature 'f0', row 1: id must be in \[0, 30\), but got 30"),
        (list(ids.unbind(1))[:1], "must hold 2 features, but hold 1"),
        ([ids[:, 0], ids[:3, 1]], r"all features need as many samples, but there are \[3, 4\]"),
    ):
        with pytest.raises(InputError, match=message):
            check_inputs(SPEC, dense, bad)
    with pytest.raises(InputError, match="dense feature '1', row 3: must be finite, but got nan"):
        check_inputs(SPEC, torch.cat((dense[:3], torch.full((1, 2), 0.0) / torch.tensor([1.0, 0.0]))), ids)


def test_an_empty_bag_of_a_jagged_tensor_is_named() -> None:
    jagged = KeyedJaggedTensor(keys=["f1", "f0"], values=torch.tensor([0, 1, 3]), lengths=torch.tensor([1, 0, 1, 1]))
    with pytest.raises(InputError, match="feature 'f1', row 1: a bag must hold at least one id"):
        check_inputs(SPEC, torch.zeros(2, 2), jagged)
