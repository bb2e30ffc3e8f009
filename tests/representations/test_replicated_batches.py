from collections.abc import Callable

import pytest
import torch

from profiles.nested import tensors_of
from profiles.providers.target import Target
from representations.presets import get_preset
from representations.target import build_target
from representations.torchrec_models import deepfm, dlrm, torchrec_target
from tests.profiles.preprocessors.replicas import assert_replicas_are_true, prepared_subjects


def own_dlrm() -> Target:
    return build_target(get_preset("dlrm-bench"), budget_bytes=10_000_000)


def torchrec_dlrm() -> Target:
    return torchrec_target(dlrm(), budget_bytes=10_000_000)


@pytest.mark.parametrize("make", [own_dlrm, torchrec_dlrm])
def test_replicated_calls_are_those_of_a_capture_at_that_size(make: Callable[[], Target]) -> None:
    assert_replicas_are_true(make(), 24, 4)


def test_many_tensors_have_the_batch_elsewhere_than_first() -> None:
    prepared = prepared_subjects(own_dlrm(), 24, 4)
    tensors = [tensor for subject in prepared.values() for call in subject.calls for tensor in tensors_of(call.args)]
    assert len(tensors) == 201
    assert sum(tensor.shape[0] != 24 for tensor in tensors) == 78


def test_bags_of_varying_length_are_replicated_by_key() -> None:
    target = torchrec_target(deepfm(), batch=4, budget_bytes=3_000_000)
    (call,) = prepared_subjects(target, 12, 4)[""].calls
    dense_BF, bags = call.args
    assert dense_BF.shape == (12, 1024)
    assert bags.stride() == 12
    with torch.no_grad():
        assert target.model(dense_BF, bags).shape[0] == 12
