from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from profiles.errors import CorruptFileError, InputError, UnknownNameError
from representations.build import build_model
from representations.model_file import load_model, save_model
from representations.mp_cache.attach import cache_embeddings, describe_caches, restore_caches, uncached_stacks, wrap
from representations.mp_cache.decoder_cache import DecoderCache
from representations.mp_cache.default_embedding import DefaultEmbedding
from representations.mp_cache.encoder_cache import EncoderCache
from representations.mp_cache.policies import CachePolicy, Ids
from representations.specs import DheSpec, EmbeddingSpec, Feature, HybridSpec, ModelSpec, TableSpec

FEATURES = tuple(Feature(name=name, cardinality=50) for name in ("a", "b", "c"))
DHE = DheSpec(dim=4, k=8, widths=(6,))
EMBEDDINGS: tuple[EmbeddingSpec, ...] = (DHE, TableSpec(dim=4), HybridSpec(table=TableSpec(dim=2), dhe=DHE))
SPEC = ModelSpec(
    name="m",
    dense_features=0,
    features=FEATURES,
    embeddings=EMBEDDINGS,
    bottom_mlp=(),
    top_mlp=(1,),
    interaction="concat",
)
LOGS = {"a": np.arange(20) % 7, "c": np.arange(50)}
IDS = torch.randint(50, (30, 3), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("policy", ["static", "lru", "lfu"])
def test_a_model_with_caches_is_saved_and_loaded_with_them(tmp_path: Path, policy: CachePolicy) -> None:
    model = build_model(SPEC).eval()
    wanted = model(torch.empty(30, 0), IDS)
    cache_embeddings(model, LOGS, cache_bytes=5 * 16, policy=policy)
    assert not uncached_stacks(model)
    loaded = load_model(save_model(model, tmp_path / "m.safetensors"))
    assert describe_caches(loaded) == describe_caches(model)
    for one in (model, loaded):
        assert torch.allclose(one(torch.empty(30, 0), IDS), wanted, atol=1e-6)


@pytest.mark.parametrize("kind", ["decoder", "default"])
def test_one_cache_behind_another_survives_a_file(tmp_path: Path, kind: str) -> None:
    model = build_model(SPEC).eval()
    (path, stack), *_ = uncached_stacks(model).items()
    inner = (
        DecoderCache(stack, torch.rand(3, 8), search="product")
        if kind == "decoder"
        else DefaultEmbedding(stack, torch.tensor([3, 3, 9]))
    )
    wrap(model, path, EncoderCache(inner, torch.tensor([1, 5])))
    assert not inner.training
    loaded = load_model(save_model(model, tmp_path / "m.safetensors"))
    assert [body["kind"] for body in describe_caches(loaded).values()] == ["static", kind]
    assert torch.allclose(loaded(torch.empty(30, 0), IDS), model(torch.empty(30, 0), IDS), atol=1e-6)


def test_only_features_with_a_dhe_can_have_a_cache() -> None:
    with pytest.raises(InputError, match="feature 'b' has no DHE; those that have one: a, c"):
        cache_embeddings(build_model(SPEC), {"b": LOGS["a"]}, cache_bytes=64)
    with pytest.raises(InputError, match="is no DHE, but"):
        restore_caches(torch.nn.Sequential(torch.nn.ReLU()), {"0": {"kind": "lru", "entries": 1}})


def test_caches_that_do_not_fit_the_spec_are_a_corrupt_file(tmp_path: Path) -> None:
    model = build_model(SPEC)
    cache_embeddings(model, {"a": LOGS["a"]}, cache_bytes=64)
    model.spec = ModelSpec(
        name="m",
        dense_features=0,
        features=FEATURES[:1],
        embeddings=(TableSpec(dim=4),),
        bottom_mlp=(),
        top_mlp=(1,),
        interaction="concat",
    )
    with pytest.raises(CorruptFileError, match="do not fit"):
        load_model(save_model(model, tmp_path / "m.safetensors"))


def test_centroids_stand_behind_hot_ids(tmp_path: Path) -> None:
    model = build_model(SPEC).eval()
    cache_embeddings(model, LOGS, cache_bytes=5 * 16, centroids=3)
    assert [body["kind"] for body in describe_caches(model).values()] == ["static", "decoder"] * 2
    assert not any(module.training for module in model.modules())
    model(torch.empty(30, 0), IDS)
    loaded = load_model(save_model(model, tmp_path / "m.safetensors"))
    assert torch.allclose(loaded(torch.empty(30, 0), IDS), model(torch.empty(30, 0), IDS), atol=1e-6)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (np.empty(0, np.int64), "feature 'c': the access log is empty"),
        (np.array([0.5]), "feature 'c': the access log must be one list of integers, but got float64"),
        (np.array([50]), r"feature 'c': ids must be in \[0, 50\), but number 0 is 50"),
    ],
)
def test_a_log_that_is_none_leaves_the_model_as_it_was(log: Ids, message: str) -> None:
    model = build_model(SPEC)
    with pytest.raises(InputError, match=message):
        cache_embeddings(model, {"a": LOGS["a"], "c": log}, cache_bytes=64)
    assert not describe_caches(model)


def test_policies_and_kinds_have_known_names() -> None:
    model, unknown = build_model(SPEC), "mru"
    policy: Any = unknown
    with pytest.raises(UnknownNameError, match=r"cache policy: unknown name 'mru'.*; known: lfu, lru, static"):
        cache_embeddings(model, LOGS, cache_bytes=64, policy=policy)
    path = next(iter(uncached_stacks(model)))
    with pytest.raises(UnknownNameError, match=r"cache: unknown name 'mru'.*; known: decoder, default, lfu"):
        restore_caches(model, {path: {"kind": unknown, "entries": 3}})
