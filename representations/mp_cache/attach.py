"""Caches put around the DHEs of a whole model, and what a saved model says of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from profiles.errors import InputError
from representations.dhe.embedding import DheEmbedding
from representations.model import RecommendationModel
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.decoder_cache import DecoderCache
from representations.mp_cache.default_embedding import DefaultEmbedding
from representations.mp_cache.encoder_cache import EncoderCache
from representations.mp_cache.online_cache import OnlineCache
from representations.mp_cache.policies import CachePolicy, Ids, entries_of, hottest_ids

__all__ = ["cache_embeddings", "describe_caches", "restore_caches", "uncached_stacks", "wrap"]


def cache_embeddings(
    model: RecommendationModel, logs: Mapping[str, Ids], cache_bytes: int, policy: CachePolicy = "static"
) -> None:
    """Put an encoder cache of so many bytes, ids not counted, around every DHE of the features in `logs`, in place.

    A `static` cache holds the hottest ids of its feature's log; the others begin empty.

    Raises:
        InputError: a feature without a DHE, or fewer bytes than one embedding.
    """
    stacks = {_feature_of(model, path): (path, stack) for path, stack in uncached_stacks(model).items()}
    for feature, log_N in logs.items():
        if feature not in stacks:
            raise InputError(f"cache: feature {feature!r} has no DHE; those that have one: {', '.join(sorted(stacks))}")
        path, stack = stacks[feature]
        entries = entries_of(cache_bytes, stack.dim)
        if policy == "static":
            wrap(model, path, EncoderCache(stack, torch.from_numpy(hottest_ids(log_N, entries))))
        else:
            wrap(model, path, OnlineCache(stack, entries, policy))


def uncached_stacks(model: nn.Module) -> dict[str, DheEmbedding]:
    """All DHEs that have no cache around them, by path."""
    cached = {cache.exact for _, cache in _caches(model)}
    return {path: m for path, m in model.named_modules() if isinstance(m, DheEmbedding) and m not in cached}


def wrap(model: nn.Module, path: str, cache: CachedStack) -> None:
    """Replace the module at `path` by the cache around it, in the mode (training, evaluation) that the module is in."""
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, cache.train(cache.stack.training))


def describe_caches(model: nn.Module) -> dict[str, dict[str, Any]]:
    """What `restore_caches` needs, by path: kind and size."""
    described: dict[str, dict[str, Any]] = {}
    for path, cache in _caches(model):
        if isinstance(cache, EncoderCache):
            described[path] = {"kind": "static", "entries": len(cache.hot_ids_E)}
        elif isinstance(cache, OnlineCache):
            described[path] = {"kind": cache.policy, "entries": cache.entries}
        elif isinstance(cache, DecoderCache):
            described[path] = {"kind": "decoder", "entries": len(cache.centroids_CK), "search": cache.search}
        elif isinstance(cache, DefaultEmbedding):
            described[path] = {"kind": "default", "entries": len(cache.sample_ids_S)}
    return described


def restore_caches(model: nn.Module, described: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the caches that were described around the DHEs of a new model, ready to load their state."""
    for path, body in described.items():
        stack = model.get_submodule(path)
        if not isinstance(stack, DheEmbedding):
            raise InputError(f"cache: {path!r} is no DHE, but {type(stack).__name__}")
        entries = int(body["entries"])
        if body["kind"] == "static":
            cache: CachedStack = EncoderCache(stack, torch.arange(entries))
        elif body["kind"] == "default":
            cache = DefaultEmbedding(stack, torch.arange(entries))
        elif body["kind"] == "decoder":
            cache = DecoderCache(stack, torch.zeros(entries, stack.encoder.k), search=body["search"])
        else:
            cache = OnlineCache(stack, entries, "lfu" if body["kind"] == "lfu" else "lru")
        wrap(model, path, cache)


def _caches(model: nn.Module) -> Iterator[tuple[str, CachedStack]]:
    return ((path, module) for path, module in model.named_modules() if isinstance(module, CachedStack))


def _feature_of(model: RecommendationModel, path: str) -> str:
    position = next(part for part in path.split(".") if part.isdigit())
    return model.spec.features[int(position)].name
