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
from representations.metrics import Metrics, score
from representations.model import RecommendationModel
from representations.mp_cache.attach import uncached_stacks, wrap
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.decoder_cache import DecoderCache, centroids_of_log
from representations.mp_cache.default_embedding import DefaultEmbedding, cold_sample
from representations.mp_cache.encoder_cache import EncoderCache
from representations.mp_cache.policies import entries_of, hottest_ids
from representations.presets import get_preset
from representations.specs import DheSpec, ModelSpec
from representations.training import predict, train
from representations.training_config import TrainingConfig
from tests.benchmarks.accuracy_synthetic import PLANTED
from tests.benchmarks.cached_stacks import DEFAULT, SAMPLE
from tests.benchmarks.intervals import mean_interval

__all__ = ["DHE", "accuracies", "flights_splits", "planted_oracle", "planted_splits", "with_caches"]

DHE = DheSpec(dim=16, k=64, widths=(64,))


def flights_splits(rows: int | None, seed: int) -> Splits:
    """The bundled flights, or their first rows."""
    return split_dataset(load_dataset("flights", rows=rows), "random", seed)


def planted_splits(rows: int, seed: int) -> Splits:
    """Generated rows with an effect for every id."""
    return split_dataset(make_synthetic(PLANTED, rows, seed).dataset, "random", seed)


def planted_oracle(rows: int, seed: int) -> Metrics:
    """What the true probabilities of those rows reach."""
    data = make_synthetic(PLANTED, rows, seed)
    return score(data.dataset.labels_N, data.probabilities_N)


def accuracies(
    splits_of: Callable[[int], Splits],
    seeds: Sequence[int],
    sizes: Mapping[str, int],
    counts: Sequence[int],
    *,
    epochs: int,
    oracle_of: Callable[[int], Metrics] | None = None,
) -> dict[str, Any]:
    """Mean metrics without caches (`base`) and of the true probabilities (`oracle`, None where nobody knows them), and
    `rows` of changes by size of the encoder cache ("" is none) and number of centroids (0 is none).

    A change is that of one trained model's metrics on the test rows; each seed draws split and model.
    """
    bases: list[Metrics] = []
    changes: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for seed in seeds:
        splits = splits_of(seed)
        base = train(_model_of(splits), splits, TrainingConfig(epochs=epochs, seed=seed))
        bases.append(base.test)
        for key, model in _cached_models(base.model, splits, sizes, counts):
            metrics = score(splits.test.labels_N, predict(model, splits.test))
            changes.setdefault(key, []).append((metrics.auc - base.auc, metrics.log_loss - base.log_loss))
    return {
        "base": _means(bases),
        "oracle": _means([oracle_of(seed) for seed in seeds]) if oracle_of else None,
        "rows": [_row(cache, n, found) for (cache, n), found in changes.items()],
    }


def _model_of(splits: Splits) -> ModelSpec:
    return replace(
        get_preset("dlrm-flights"),
        features=splits.features,
        embeddings=(DHE,) * len(splits.features),
        dense_features=len(splits.train.dense_names),
    )


def _means(found: Sequence[Metrics]) -> dict[str, float]:
    return {"auc": fmean(one.auc for one in found), "log_loss": fmean(one.log_loss for one in found)}


def _row(cache: str, n: int, changes: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Means over seeds with their intervals, which need two seeds at least and are None with one."""
    row: dict[str, Any] = {"cache": cache, "n": n}
    for name, values in zip(("auc_change", "log_loss_change"), zip(*changes, strict=True), strict=True):
        row |= {name: fmean(values), f"{name}_interval": mean_interval(values) if len(values) > 1 else None}
    return row


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
