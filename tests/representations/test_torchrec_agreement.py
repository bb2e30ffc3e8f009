"""Our models against torchrec's own, given the same weights."""

import pytest
import torch
from torch import Tensor, nn
from torchrec.models.deepfm import SimpleDeepFMNN
from torchrec.models.dlrm import DLRM, DenseArch, OverArch
from torchrec.modules.embedding_configs import EmbeddingBagConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection

from representations.bags import jagged_of
from representations.build import build_model
from representations.model import RecommendationModel
from representations.specs import Feature, ModelSpec, TableSpec

FEATURES = tuple(Feature(name=f"f{i}", cardinality=50 + i, pooling=2.0) for i in range(5))
BAGS = [(torch.arange(i, i + 40), torch.arange(20) * 2) for i in range(5)]
TOLERANCE = 1e-5


def spec_of(interaction: str) -> ModelSpec:
    return ModelSpec(
        name="ours",
        dense_features=4,
        features=FEATURES,
        embeddings=(TableSpec(dim=8),) * 5,
        bottom_mlp=(12, 8),
        top_mlp=(1,) if interaction == "fm" else (10, 6, 1),
        interaction=interaction,  # type: ignore[arg-type]  # from a parameter list
        deep_mlp=(7,) if interaction == "fm" else (),
    )


def collection() -> EmbeddingBagCollection:
    return EmbeddingBagCollection(
        tables=[
            EmbeddingBagConfig(name=f.name, num_embeddings=f.cardinality, embedding_dim=8, feature_names=[f.name])
            for f in FEATURES
        ]
    )


def give_weights(ours: RecommendationModel, theirs: nn.Module) -> None:
    """Both list their parameters in the same order: tables, dense, interaction, over; only tables come second here."""
    tables = [p for name, p in theirs.named_parameters() if "embedding_bags" in name]
    rest = [p for name, p in theirs.named_parameters() if "embedding_bags" not in name]
    mine = dict(ours.named_parameters())
    my_tables = [p for name, p in mine.items() if name.startswith(("embeddings.", "sparse_arch."))]
    my_rest = [p for name, p in mine.items() if not name.startswith(("embeddings.", "sparse_arch."))]
    with torch.no_grad():
        for source, target in zip((*my_tables, *my_rest), (*tables, *rest), strict=True):
            target.copy_(source)


def assert_alike(ours: Tensor, theirs: Tensor) -> None:
    assert ((ours - theirs).abs() / theirs.abs().clamp_min(1e-3)).max() < TOLERANCE


def test_dot_dlrm() -> None:
    ours, theirs = build_model(spec_of("dot"), 1), DLRM(collection(), 4, [12, 8], [10, 6, 1])
    give_weights(ours, theirs)
    dense = torch.randn(20, 4)
    wanted = theirs(dense, jagged_of(BAGS, [f.name for f in FEATURES])).squeeze(1)
    assert_alike(ours(dense, BAGS), wanted)


class ConcatDlrm(nn.Module):
    """torchrec has no DLRM that concatenates: its parts, put side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = collection()
        self.dense_arch = DenseArch(4, [12, 8])
        self.over_arch = OverArch(8 + 5 * 8, [10, 6, 1])

    def forward(self, dense: Tensor) -> Tensor:
        sparse = self.tables(jagged_of(BAGS, [f.name for f in FEATURES])).values()
        logits: Tensor = self.over_arch(torch.cat((self.dense_arch(dense), sparse), dim=1))
        return logits.squeeze(1)


def test_concat_dlrm() -> None:
    ours, theirs = build_model(spec_of("concat"), 2), ConcatDlrm()
    give_weights(ours, theirs)
    dense = torch.randn(20, 4)
    assert_alike(ours(dense, BAGS), theirs(dense))


def test_deepfm() -> None:
    ours, theirs = build_model(spec_of("fm"), 3), SimpleDeepFMNN(4, collection(), 12, 7)
    give_weights(ours, theirs)
    dense = torch.randn(20, 4)
    wanted = theirs(dense, jagged_of(BAGS, [f.name for f in FEATURES])).squeeze(1)
    assert_alike(ours(dense, BAGS).sigmoid(), wanted)


@pytest.mark.parametrize("backend", ["torchrec", "fbgemm"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_grouped_tables_give_what_single_ones_give(backend: str, dtype: str) -> None:
    single = build_model(with_tables("torch", dtype), 4)
    grouped = build_model(with_tables(backend, dtype), 4)
    for i in range(5):
        grouped.embedding_set.write_table(i, single.embedding_set.read_table(i))
    ours, theirs = (torch.cat(model.embedding_set(BAGS), dim=1) for model in (grouped, single))
    assert torch.allclose(ours, theirs, atol=1e-6 if dtype == "float32" else 2e-4)
    torch.autograd.backward(ours.sum())
    assert all(p.grad is not None for p in grouped.embedding_set.parameters())


def with_tables(backend: str, dtype: str) -> ModelSpec:
    body = spec_of("concat").to_object()
    body["embeddings"] = [{"kind": "table", "dim": 8, "backend": backend, "dtype": dtype}] * 5
    from representations.specs import model_from_object

    return model_from_object(body)
