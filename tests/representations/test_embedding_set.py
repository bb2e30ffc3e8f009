import pytest
import torch

from profiles.errors import InputError
from representations.embedding_set import EmbeddingSet
from representations.specs import EmbeddingSpec, TableSpec
from tests.representations.models import DHE, FUSED, HYBRID, ROBE, TABLE, TRAIN, small_model

TORCHREC = TableSpec(dim=8, backend="torchrec")
INT8 = TableSpec(dim=8, backend="quantised", dtype="int8")
SPECS = (TABLE, FUSED, TORCHREC, INT8, HYBRID, DHE, TRAIN, ROBE)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("value", [-1, 40, 2**20])
def test_an_id_out_of_range_names_feature_row_and_value(spec: EmbeddingSpec, value: int) -> None:
    embeddings = EmbeddingSet(small_model(spec, spec))
    one_hot = torch.tensor([[1, 2], [29, 39], [3, value]])
    with pytest.raises(InputError, match=rf"feature 'f1', row 2: id must be in \[0, 40\), but got {value}"):
        embeddings(one_hot)
    bags = [(torch.tensor([1, 2, 3]), torch.tensor([0, 1])), (torch.tensor([1, 2, value, 4]), torch.tensor([0, 1]))]
    with pytest.raises(InputError, match=rf"feature 'f1', row 1: id must be in \[0, 40\), but got {value}"):
        embeddings(bags)


def test_any_other_error_is_left_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="offsets"):
        EmbeddingSet(small_model(TABLE))([(torch.tensor([1, 2]), torch.tensor([1, 2]))])
