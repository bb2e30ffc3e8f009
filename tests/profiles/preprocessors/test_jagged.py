from typing import Any

import numpy as np
import pytest
import torch

from profiles.errors import MeasurementError
from profiles.preprocessors.growth import Growth
from profiles.preprocessors.jagged import grow_jagged, grow_keyed_jagged

jagged_tensor = pytest.importorskip("torchrec.sparse.jagged_tensor")


def keyed(times: int = 1, *, weights: bool = False) -> Any:
    """Two keys with two bags each: [5], [6, 7] and [], [8]."""
    values = [5, 6, 7] * times + [8] * times
    return jagged_tensor.KeyedJaggedTensor(
        keys=["a", "b"],
        values=torch.tensor(values),
        lengths=torch.tensor([1, 2] * times + [0, 1] * times),
        weights=torch.tensor(values) / 10 if weights else None,
    )


def test_bags_are_repeated_under_their_own_key() -> None:
    larger = Growth(factor=3).of(keyed(weights=True), keyed(2, weights=True))
    expected = keyed(3, weights=True)
    assert larger.keys() == ["a", "b"]
    for part in ("values", "lengths", "offsets", "weights"):
        assert torch.equal(getattr(larger, part)(), getattr(expected, part)()), part


def test_of_another_batch_only_the_number_of_bags_is_taken() -> None:
    other = jagged_tensor.KeyedJaggedTensor(
        keys=["a", "b"], values=torch.arange(9), lengths=torch.tensor([1, 2, 1, 0] * 2 + [1]).narrow(0, 0, 8)
    )
    larger = Growth(factor=2, is_repeated=False).of((keyed(),), (other,))[0]
    assert torch.equal(larger.values(), keyed(2).values())


def test_of_the_same_batch_nothing_grows() -> None:
    small = keyed()
    assert grow_keyed_jagged(Growth(factor=2), small, keyed()) is small


def test_ids_are_drawn_within_those_of_their_key() -> None:
    ids = torch.cat([torch.arange(0, 40, 4), torch.arange(100, 200, 10)])
    small = jagged_tensor.KeyedJaggedTensor(keys=["a", "b"], values=ids, lengths=torch.ones(20, dtype=torch.long))
    larger = grow_keyed_jagged(Growth(factor=20, rng=np.random.default_rng(0)), small, None)
    first, second = larger["a"].values(), larger["b"].values()
    assert torch.equal(first[:10], ids[:10])
    assert len(torch.unique(first)) > 20
    assert first.max() <= 36
    assert second.min() >= 100


def test_keys_with_batches_of_their_own_are_refused() -> None:
    small = jagged_tensor.KeyedJaggedTensor(
        keys=["a", "b"],
        values=torch.arange(3),
        lengths=torch.tensor([1, 1, 1]),
        stride_per_key_per_rank=[[2], [1]],
    )
    with pytest.raises(MeasurementError, match="batches of their own"):
        grow_keyed_jagged(Growth(factor=2), small, None)


def test_a_jagged_tensor_is_repeated_whole() -> None:
    small = jagged_tensor.JaggedTensor(values=torch.rand(3, 2), lengths=torch.tensor([1, 2]), weights=torch.rand(3))
    larger = grow_jagged(Growth(factor=2), small, None)
    assert torch.equal(larger.values(), small.values().repeat(2, 1))
    assert larger.lengths().tolist() == [1, 2, 1, 2]
    assert len(larger.weights()) == 6
    assert grow_jagged(Growth(factor=2), small, small) is small


def test_embeddings_by_key_grow_by_their_samples() -> None:
    def embeddings(batch: int) -> Any:
        return jagged_tensor.KeyedTensor(keys=["a", "b"], length_per_key=[2, 3], values=torch.ones(batch, 5))

    larger = Growth(factor=3).of(embeddings(4), embeddings(8))
    assert larger["b"].shape == (12, 3)
