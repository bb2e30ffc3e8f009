from typing import Literal

import pytest
import torch

from profiles.errors import InputError
from representations.dhe.encoder import DheEncoder
from representations.dhe.hashing import HASH_MODULUS, hash_ids

IDS = torch.arange(0, 5000, 7)


class Other(torch.Tensor):
    """Not a plain tensor."""


@pytest.mark.parametrize("cardinality", [5000, 2**35])
@pytest.mark.parametrize("transform", ["uniform", "gaussian"])
def test_compiled_and_torch_paths_agree(cardinality: int, transform: Literal["uniform", "gaussian"]) -> None:
    encoder = DheEncoder(40, cardinality, transform=transform, seed=1)
    compiled = encoder(IDS)
    assert compiled.shape == (len(IDS), 40)
    assert compiled.dtype == torch.float32
    assert torch.equal(compiled, encoder(IDS.as_subclass(Other)))


@pytest.mark.parametrize("transform", ["uniform", "gaussian"])
def test_blocks_make_up_the_whole(transform: Literal["uniform", "gaussian"]) -> None:
    encoder = DheEncoder(18, 5000, transform=transform)
    blocks = [block.clone() for block in encoder.blocks(IDS[:100], 32)]
    assert [len(block) for block in blocks] == [32, 32, 32, 4]
    assert torch.equal(torch.cat(blocks), encoder(IDS[:100]))


def test_uniform_scales_hashes_to_plus_minus_one() -> None:
    encoder = DheEncoder(16, 5000, seed=2)
    hashed = hash_ids(IDS, encoder.a_K, encoder.b_K, encoder.prime).double()
    assert torch.allclose(encoder(IDS).double(), hashed / (HASH_MODULUS - 1) * 2 - 1, atol=1e-6)
    assert encoder(IDS).abs().max() <= 1


def test_an_odd_number_of_gaussian_columns_is_refused() -> None:
    with pytest.raises(InputError, match=r"user: k must be even for gaussian pairs, but got 15"):
        DheEncoder(15, 5000, transform="gaussian", where="user")
    assert DheEncoder(15, 5000)(torch.arange(3)).shape == (3, 15)


def test_gaussian_pairs_are_standard_normal() -> None:
    encoded = DheEncoder(64, 5000, transform="gaussian", seed=0)(torch.arange(5000))
    assert encoded.isfinite().all()
    assert encoded.mean().item() == pytest.approx(0, abs=0.02)
    assert encoded.var().item() == pytest.approx(1, abs=0.02)
    assert torch.corrcoef(encoded.T)[0, 1].item() == pytest.approx(0, abs=0.06)


def test_an_id_beyond_the_declared_range_is_an_error() -> None:
    encoder = DheEncoder(8, 100)
    with pytest.raises(InputError, match=r"ids must be in \[0, 100\), but number 1 is 100"):
        encoder(torch.tensor([5, 100]))
    with pytest.raises(InputError, match="number 0 is -1"):
        next(encoder.blocks(torch.tensor([-1]), 4))


def test_an_id_beyond_the_range_is_nan_where_raising_would_wait() -> None:
    encoded = DheEncoder(8, 100)._in_torch(torch.tensor([5, 100, -1]))
    assert encoded.isnan().all(dim=1).tolist() == [False, True, True]


def test_tensors_elsewhere_take_the_torch_path() -> None:
    encoder = DheEncoder(8, 100).to("meta")
    assert encoder(torch.arange(5, device="meta")).shape == (5, 8)


def test_hash_functions_travel_with_the_state() -> None:
    first, second = DheEncoder(8, 100, seed=1), DheEncoder(8, 100, seed=2)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(torch.arange(100)), second(torch.arange(100)))
    assert "k=8, cardinality=100, transform='uniform'" in repr(first)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
@pytest.mark.parametrize("cardinality", [200, 2**35])
def test_narrow_integers_are_ids_too(dtype: torch.dtype, cardinality: int) -> None:
    encoder, ids = DheEncoder(8, cardinality), torch.tensor([0, 7, 199])
    assert torch.equal(encoder(ids.to(dtype)), encoder(ids))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bool])
def test_other_numbers_are_no_ids(dtype: torch.dtype) -> None:
    with pytest.raises(InputError, match="dhe: ids must be integers, but got torch"):
        DheEncoder(8, 100)(torch.tensor([0, 1]).to(dtype))
