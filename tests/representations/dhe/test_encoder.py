from typing import Literal

import pytest
import torch

from representations.dhe.encoder import DheEncoder
from representations.dhe.hashing import HASH_MODULUS, hash_ids

IDS = torch.arange(0, 5000, 7)


@pytest.mark.parametrize("cardinality", [5000, 2**35])
@pytest.mark.parametrize("transform", ["uniform", "gaussian"])
def test_compiled_and_torch_paths_agree(cardinality: int, transform: Literal["uniform", "gaussian"]) -> None:
    encoder = DheEncoder(32, cardinality, transform=transform, seed=1)
    assert torch.equal(encoder._compiled(IDS), encoder._in_torch(IDS))
    assert encoder(IDS).shape == (len(IDS), 32)
    assert encoder(IDS).dtype == torch.float32


def test_uniform_scales_hashes_to_plus_minus_one() -> None:
    encoder = DheEncoder(16, 5000, seed=2)
    hashed = hash_ids(IDS, encoder.a_K, encoder.b_K, encoder.prime).double()
    assert torch.allclose(encoder(IDS).double(), hashed / (HASH_MODULUS - 1) * 2 - 1, atol=1e-6)
    assert encoder(IDS).abs().max() <= 1


def test_gaussian_pairs_are_standard_normal() -> None:
    encoded = DheEncoder(64, 5000, transform="gaussian", seed=0)(torch.arange(5000))
    assert encoded.isfinite().all()
    assert encoded.mean().item() == pytest.approx(0, abs=0.02)
    assert encoded.var().item() == pytest.approx(1, abs=0.02)
    assert torch.corrcoef(encoded.T)[0, 1].item() == pytest.approx(0, abs=0.06)


def test_tensors_elsewhere_take_the_torch_path() -> None:
    encoder = DheEncoder(8, 100).to("meta")
    assert encoder(torch.arange(5, device="meta")).shape == (5, 8)


def test_hash_functions_travel_with_the_state() -> None:
    first, second = DheEncoder(8, 100, seed=1), DheEncoder(8, 100, seed=2)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(torch.arange(100)), second(torch.arange(100)))
    assert "k=8, cardinality=100, transform='uniform'" in repr(first)
