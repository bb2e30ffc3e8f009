import pytest
import torch
from torch import nn
from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

from planner.distributed import EmbeddingTable
from planner.distributed.interop import module_tables, table_modules
from profiles.errors import InputError


def model(data_type: DataType = DataType.FP16) -> nn.Module:
    tables = [
        EmbeddingBagConfig(name="user", num_embeddings=100, embedding_dim=8, feature_names=["user"]),
        EmbeddingBagConfig(
            name="item", num_embeddings=50, embedding_dim=16, feature_names=["liked", "seen"], data_type=data_type
        ),
    ]
    return nn.ModuleDict({"sparse": EmbeddingBagCollection(tables=tables, device=torch.device("meta"))})


def test_tables_have_the_model_s_shapes_and_types() -> None:
    user, item = module_tables(model(), pooling={"item": 5.0}, optimizer="adam")
    assert user == EmbeddingTable(name="user", rows=100, dim=8, optimizer="adam")
    assert item == EmbeddingTable(name="item", rows=50, dim=16, pooling=10.0, dtype="float16", optimizer="adam")
    assert table_modules(model()) == {"user": "sparse", "item": "sparse"}


def test_what_is_no_table_is_said() -> None:
    with pytest.raises(InputError, match="pooling: the model has no table 'shop'"):
        module_tables(model(), pooling={"shop": 2.0})
    with pytest.raises(InputError, match="table item: data_type: INT4 cannot be trained"):
        module_tables(model(DataType.INT4))
    with pytest.raises(InputError, match="model: holds no torchrec EmbeddingBagCollection"):
        module_tables(nn.Linear(2, 2))
