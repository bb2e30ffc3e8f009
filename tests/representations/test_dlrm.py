from itertools import combinations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from profiles.errors import InputError
from representations.build import build_model
from representations.dlrm import Dlrm
from representations.interaction import DotInteraction
from representations.presets import get_preset
from representations.specs import ModelSpec
from representations.target import random_inputs
from tests.representations.models import DHE, HYBRID, MODELS, TABLE, small_model


@pytest.mark.parametrize("spec", MODELS, ids=lambda spec: spec.representation)
def test_every_model_gives_one_logit_per_sample_and_trains(spec: ModelSpec) -> None:
    model = build_model(spec)
    logits = model(*random_inputs(spec, 6))
    assert logits.shape == (6,)
    torch.autograd.backward(logits.sum())
    assert all(p.grad is not None for p in model.parameters())


def test_dot_keeps_each_pair_once_after_the_first_vector() -> None:
    vectors = torch.randn(4, 5, 6).unbind()
    pairs = torch.stack([(a * b).sum(1) for a, b in combinations(vectors, 2)], dim=1)
    assert torch.allclose(DotInteraction()(*vectors), torch.cat((vectors[0], pairs), dim=1), atol=1e-6)
    assert torch.allclose(DotInteraction(keep_first=False)(*vectors), pairs, atol=1e-6)


def test_one_hot_bags_equal_plain_ids() -> None:
    model = build_model(small_model(TABLE, HYBRID, DHE))
    dense, ids = torch.randn(5, 2), torch.randint(0, 30, (5, 3))
    bags = [(column.contiguous(), torch.arange(5)) for column in ids.unbind(1)]
    assert torch.allclose(model(dense, ids), model(dense, bags), atol=1e-6)


def test_dropping_a_feature_is_an_error() -> None:
    with pytest.raises(InputError, match="must hold 2 features, but hold 1"):
        build_model(small_model(TABLE, TABLE))(torch.zeros(3, 2), torch.zeros(3, 1, dtype=torch.int64))


def test_the_bench_model_counts_its_published_flops() -> None:
    spec = get_preset("dlrm-bench")
    with torch.device("meta"):
        model = Dlrm(spec)
        dense = torch.empty(256, 13)
        bags = [(torch.empty(2560, dtype=torch.int64), torch.empty(256, dtype=torch.int64)) for _ in spec.features]
    with FlopCounterMode(display=False) as counter:
        model(dense, bags)
    assert counter.get_total_flops() == 1_192_919_040


def test_seeds_decide_the_weights_and_leave_the_global_generator() -> None:
    spec = small_model(TABLE, DHE)
    before = torch.random.get_rng_state()
    first, again, other = (build_model(spec, seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["embeddings.1.encoder.a_K"], other["embeddings.1.encoder.a_K"])
    assert not torch.equal(first["embeddings.0.weight"], other["embeddings.0.weight"])


def test_features_hash_differently() -> None:
    state = build_model(small_model(DHE, DHE)).state_dict()
    assert not torch.equal(state["embeddings.0.encoder.a_K"], state["embeddings.1.encoder.a_K"])
