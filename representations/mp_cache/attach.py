"""Caches put around the DHEs of a whole model, and what a saved model says of them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from profiles.errors import InputError, UnknownNameError
from representations.dhe.embedding import DheEmbedding
from representations.model import RecommendationModel
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.decoder_cache import DecoderCache, centroids_of_log
from representations.mp_cache.default_embedding import DefaultEmbedding
from representations.mp_cache.encoder_cache import EncoderCache
from representations.mp_cache.online_cache import OnlineCache
from representations.mp_cache.policies import CachePolicy, Ids, check_log, check_policy, entries_of, hottest_ids

__all__ = ["cache_embeddings", "describe_caches", "restore_caches", "uncached_stacks", "wrap"]


def cache_embeddings(
    model: RecommendationModel,
    logs: Mapping[str, Ids],
    cache_bytes: int,
    policy: CachePolicy = "static",
    *,
    centroids: int | None = None,
) -> None:
    """Put an encoder cache of so many bytes, ids not counted, around every DHE of the features in `logs`, in place.

    A `static` cache holds the hottest ids of its feature's log; the others begin empty. With `centroids` a decoder
    cache of so many centroids of the log stands behind each of them, which is not exact. Where this raises, the model
    stays as it was.

    Raises:
        InputError: a feature without a DHE, a log that is empty or holds something else than the feature's ids, fewer
            bytes than one embedding, or no centroid.
        UnknownNameError: an unknown policy.
    """
    check_policy(policy)
    caches: dict[str, CachedStack] = {}
    stacks = {_feature_of(model, path): (path, stack) for path, stack in uncached_stacks(model).items()}
    for feature, log_N in logs.items():
        if feature not in stacks:
            raise InputError(f"cache: feature {feature!r} has no DHE; those that have one: {', '.join(sorted(stacks))}")
        path, stack = stacks[feature]
        check_log(log_N, f"cache: feature {feature!r}")
        inner = stack if centroids is None else DecoderCache(stack, centroids_of_log(stack, log_N, centroids))
        caches[path] = _encoder_cache(inner, log_N, entries_of(cache_bytes, stack.dim), policy)
    for path, cache in caches.items():
        wrap(model, path, cache)


def uncached_stacks(model: nn.Module) -> dict[str, DheEmbedding]:
    """All DHEs that have no cache around them, by path."""
    cached = {cache.exact for _, cache in _caches(model)}
    return {path: m for path, m in model.named_modules() if isinstance(m, DheEmbedding) and m not in cached}


def wrap(model: nn.Module, path: str, cache: CachedStack) -> None:
    """Replace the module at `path` by the cache around it, on the device and in the mode (training, evaluation) of the
    DHE, as are the caches within.
    """
    parent, _, name = path.rpartition(".")
    device = cache.exact.encoder.a_K.device
    setattr(model.get_submodule(parent), name, cache.to(device).train(cache.exact.training))


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
    """Put the caches that were described around the DHEs of a new model, ready to load their state.

    Raises:
        InputError: a path that leads to no DHE.
        UnknownNameError: an unknown kind of cache.
    """
    for path, body in described.items():
        stack = model.get_submodule(path)
        if not isinstance(stack, DheEmbedding):
            raise InputError(f"cache: {path!r} is no DHE, but {type(stack).__name__}")
        if body["kind"] not in _RESTORED:
            raise UnknownNameError("cache", str(body["kind"]), _RESTORED)
        wrap(model, path, _RESTORED[body["kind"]](stack, int(body["entries"]), body.get("search")))


_RESTORED: Mapping[str, Callable[[DheEmbedding, int, str | None], CachedStack]] = {
    "static": lambda stack, entries, _: EncoderCache(stack, torch.arange(entries)),
    "lru": lambda stack, entries, _: OnlineCache(stack, entries, "lru"),
    "lfu": lambda stack, entries, _: OnlineCache(stack, entries, "lfu"),
    "decoder": lambda stack, entries, search: DecoderCache(stack, torch.zeros(entries, stack.encoder.k), search=search),
    "default": lambda stack, entries, _: DefaultEmbedding(stack, torch.zeros(entries, dtype=torch.int64)),
}


def _encoder_cache(inner: DheEmbedding | CachedStack, log_N: Ids, entries: int, policy: CachePolicy) -> CachedStack:
    if policy != "static":
        return OnlineCache(inner, entries, policy)
    return EncoderCache(inner, torch.from_numpy(hottest_ids(log_N, entries)))


def _caches(model: nn.Module) -> Iterator[tuple[str, CachedStack]]:
    return ((path, module) for path, module in model.named_modules() if isinstance(module, CachedStack))


def _feature_of(model: RecommendationModel, path: str) -> str:
    position = next(part for part in path.split(".") if part.isdigit())
    return model.spec.features[int(position)].name
