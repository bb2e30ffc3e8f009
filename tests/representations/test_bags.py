import pytest
import torch
from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

from profiles.errors import InputError
from representations.bags import bags_of, jagged_of, table_batched
from representations.build import build_model
from tests.representations.models import DHE, FUSED, HYBRID, PRODUCT, TABLE, TRAIN, small_model

SPEC = small_model(TABLE, PRODUCT, DHE, TRAIN, FUSED)
NAMES = [feature.name for feature in SPEC.features]


def test_a_jagged_tensor_is_read_by_name_and_gives_what_bags_give() -> None:
    model = build_model(SPEC)
    dense = torch.randn(3, 2)
    bags = [(torch.tensor([i, i + 1, 2 * i, 7]), torch.tensor([0, 2, 3])) for i in range(5)]
    jagged = jagged_of(bags, NAMES)
    assert torch.equal(model(dense, jagged), model(dense, bags))
    shuffled = KeyedJaggedTensor.concat([jagged_of([bags[i]], [NAMES[i]]) for i in (3, 0, 4, 1, 2)])
    assert torch.equal(model(dense, shuffled), model(dense, bags))


def test_empty_bags_of_a_jagged_tensor_give_zero_vectors() -> None:
    model = build_model(SPEC)
    jagged = KeyedJaggedTensor(keys=NAMES, values=torch.tensor([4]), lengths=torch.tensor([0, 1] + [0, 0] * 4))
    vectors = model.embedding_set(jagged)
    assert all(not vector[0].any() for vector in vectors)
    assert vectors[0][1].any()


def test_a_missing_feature_is_named() -> None:
    jagged = KeyedJaggedTensor(keys=["f0"], values=torch.tensor([4]), lengths=torch.tensor([1]))
    with pytest.raises(InputError, match=r"the jagged tensor lacks the features \['f1'\], has \['f0'\]"):
        build_model(small_model(TABLE, HYBRID, interaction="concat"))(torch.zeros(1, 2), jagged)


def test_weights_are_refused_rather_than_ignored() -> None:
    weights = torch.tensor([0.5])
    jagged = KeyedJaggedTensor(keys=["f0"], values=torch.tensor([4]), lengths=torch.tensor([1]), weights=weights)
    with pytest.raises(InputError, match="the jagged tensor has weights, but rows of a bag are summed unweighted"):
        build_model(small_model(TABLE))(torch.zeros(1, 2), jagged)


def test_table_batched_ids_lie_table_after_table() -> None:
    ids, offsets = table_batched([(torch.tensor([5, 6]),), (torch.tensor([7, 8, 9]), torch.tensor([0, 1]))])
    assert ids.tolist() == [5, 6, 7, 8, 9]
    assert offsets.tolist() == [0, 1, 2, 3, 5]
    assert table_batched([(torch.tensor([5, 6]),)] * 2)[1].tolist() == [0, 1, 2, 3, 4]


def test_columns_are_bags_of_one() -> None:
    ids = torch.tensor([[1, 2], [3, 4]])
    assert [bag[0].tolist() for bag in bags_of(ids, ["a", "b"])] == [[1, 3], [2, 4]]
