"""What caches cost trained DHE models in accuracy, with caches of several sizes put around them."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import torch

from representations.datasets import Splits, load_dataset, make_synthetic, split_dataset
from representations.dhe.embedding import DheEmbedding
from representations.metrics import score
from representations.model import RecommendationModel
from representations.mp_cache.attach import uncached_stacks, wrap
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.decoder_cache import DecoderCache, centroids_of_log
from representations.mp_cache.default_embedding import DefaultEmbedding, cold_sample
from representations.mp_cache.encoder_cache import EncoderCache
from representations.mp_cache.policies import entries_of, hottest_ids
from representations.presets import get_preset
from representations.specs import DheSpec
from representations.training import predict, train
from representations.training_config import TrainingConfig
from tests.benchmarks.accuracy_synthetic import PLANTED
from tests.benchmarks.cached_stacks import DEFAULT, SAMPLE

__all__ = ["DHE", "accuracy_rows", "flights_splits", "planted_splits", "with_caches"]

DHE = DheSpec(dim=16, k=64, widths=(64,))


def flights_splits(rows: int | None, seed: int) -> Splits:
    """The bundled flights, or their first rows."""
    return split_dataset(load_dataset("flights", rows=rows), "random", seed)


def planted_splits(rows: int, seed: int) -> Splits:
    """Generated rows with an effect for every id."""
    return split_dataset(make_synthetic(PLANTED, rows, seed).dataset, "random", seed)


def accuracy_rows(
    splits_of: Callable[[int], Splits],
    seeds: Sequence[int],
    sizes: Mapping[str, int],
    counts: Sequence[int],
    *,
    epochs: int,
) -> list[dict[str, Any]]:
    """Mean changes of AUC and log loss by size of the encoder cache ("" is none) and number of centroids (0 is none).

    The changes are those of one trained model's predictions for the test rows; each seed draws split and model.
    """
    changes: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for seed in seeds:
        splits = splits_of(seed)
        spec = replace(
            get_preset("dlrm-flights"),
            features=splits.features,
            embeddings=(DHE,) * len(splits.features),
            dense_features=len(splits.train.dense_names),
        )
        result = train(spec, splits, TrainingConfig(epochs=epochs, seed=seed))
        for key, model in _cached_models(result.model, splits, sizes, counts):
            metrics = score(splits.test.labels_N, predict(model, splits.test))
            change = (metrics.auc - result.auc, metrics.log_loss - result.log_loss)
            changes.setdefault(key, []).append(change)
    return [
        {
            "cache": cache,
            "n": n,
            "auc_change": fmean(auc for auc, _ in found),
            "log_loss_change": fmean(loss for _, loss in found),
        }
        for (cache, n), found in changes.items()
    ]


def with_caches(model: RecommendationModel, splits: Splits, cache_bytes: int, centroids: int) -> RecommendationModel:
    """A copy with caches around every DHE, made of the ids of the training rows; 0 is none (see `DEFAULT`)."""
    cached = copy.deepcopy(model)
    for path, stack in uncached_stacks(cached).items():
        position = int(next(part for part in path.split(".") if part.isdigit()))
        log_N = np.ascontiguousarray(splits.train.ids_NS[:, position])
        inner: DheEmbedding | CachedStack = stack
        hot_E = hottest_ids(log_N, entries_of(cache_bytes, stack.dim)) if cache_bytes else log_N[:0]
        if centroids == DEFAULT:
            inner = DefaultEmbedding(stack, cold_sample(log_N, hot_E, SAMPLE))
        elif centroids:
            inner = DecoderCache(stack, centroids_of_log(stack, log_N, centroids))
        if isinstance(inner, CachedStack):
            wrap(cached, path, inner)
        if cache_bytes:
            wrap(cached, path, EncoderCache(inner, torch.from_numpy(hot_E)))
    return cached


def _cached_models(
    model: RecommendationModel, splits: Splits, sizes: Mapping[str, int], counts: Sequence[int]
) -> Iterator[tuple[tuple[str, int], RecommendationModel]]:
    for cache, cache_bytes in {"": 0, **sizes}.items():
        for n in (0, *counts, *([DEFAULT] if cache_bytes else [])):
            yield (cache, n), with_caches(model, splits, cache_bytes, n)
