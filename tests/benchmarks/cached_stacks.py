"""How fast a DHE with caches answers the accesses of a real log, beside the bare stack and a table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from profiles.errors import MeasurementError
from representations.dhe.embedding import DheEmbedding, set_deduplication, set_streaming
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.decoder_cache import DecoderCache, centroids_of_log
from representations.mp_cache.default_embedding import DefaultEmbedding, cold_sample
from representations.mp_cache.encoder_cache import EncoderCache
from representations.mp_cache.online_cache import OnlineCache
from representations.mp_cache.policies import CachePolicy, entries_of, hottest_ids
from representations.specs import DheSpec, Feature, TableSpec
from representations.table import EmbeddingTable
from tests.benchmarks.timing import Alternative, interleave, ratios

__all__ = [
    "BYTES",
    "DEFAULT",
    "IDS_PER_CALL",
    "SAMPLE",
    "SPEC",
    "Logs",
    "centroids_of",
    "encodings_of",
    "logs_of",
    "time_stacks",
]

SPEC = DheSpec(dim=16, k=1024, widths=(128,))
BYTES = {"2KB": 2048, "64KB": 2**16, "2MB": 2**21}
# In the place of a number of centroids: one embedding for all ids that the encoder cache lacks.
DEFAULT = -1
SAMPLE = 256
# The 26 features of a batch of 128.
IDS_PER_CALL = 3328
_TOLERANCE = 1e-5

Ids = NDArray[np.int64]
Centroids = Mapping[int, Tensor]


@dataclass(frozen=True, kw_only=True, slots=True)
class Logs:
    """A log in two halves: caches are made of the earlier one, and timed on the later one."""

    feature: Feature
    earlier_N: Ids
    later_N: Ids

    def batches(self, count: int) -> list[Tensor]:
        """The first calls of the later half."""
        return [torch.from_numpy(part.copy()) for part in np.split(self.later_N[: count * IDS_PER_CALL], count)]


def logs_of(log_N: Ids) -> Logs:
    """The halves of a log, ids made dense."""
    distinct, ids_N = np.unique(log_N, return_inverse=True)
    middle = len(ids_N) // 2
    return Logs(
        feature=Feature(name="item", cardinality=len(distinct)), earlier_N=ids_N[:middle], later_N=ids_N[middle:]
    )


def centroids_of(logs: Logs, counts: Sequence[int], maximum_ids: int) -> dict[int, Tensor]:
    """Centroids of the earlier half by their number."""
    stack = _stack(logs)
    return {n: centroids_of_log(stack, logs.earlier_N, n, maximum_ids=maximum_ids) for n in counts}


@torch.inference_mode()
def encodings_of(logs: Logs, centroids: Centroids) -> dict[str, Any]:
    """How near encodings of accessed ids are to their nearest centroid, and how flat their spectrum is."""
    ids_N = torch.from_numpy(logs.later_N[: 4 * IDS_PER_CALL].copy())
    encoded_NK = nn.functional.normalize(_stack(logs).encoder(ids_N))
    spectrum = torch.linalg.svdvals(encoded_NK - encoded_NK.mean(0)).square()
    eighth = SPEC.k // 8
    nearness = {}
    for n, centroids_CK in centroids.items():
        cosines_N = (encoded_NK @ nn.functional.normalize(centroids_CK).t()).amax(dim=1)
        nearness[n] = {
            "median_cosine": float(cosines_N.median()),
            "share_above_0.9": float((cosines_N > 0.9).float().mean()),
        }
    return {"nearness": nearness, "variance_in_an_eighth": float(spectrum[:eighth].sum() / spectrum.sum())}


@torch.inference_mode()
def time_stacks(logs: Logs, centroids: Centroids, rounds: int) -> list[dict[str, Any]]:
    """A row per way to answer: speed-up over the bare stack, time over a table's, and share of accesses hit."""
    batches = logs.batches(rounds + 1)
    ways = _ways(logs, centroids)
    table = EmbeddingTable(logs.feature, TableSpec(dim=SPEC.dim))
    for way in ways:
        _check(way, ways[0], batches[0])
    timed = {f"{i}": Alternative(call=_next_batch(way.module, batches)) for i, way in enumerate(ways)}
    seconds = interleave({**timed, "table": Alternative(call=_next_batch(table, batches))}, rounds)
    return [
        {
            **way.labels,
            "hit_rate": way.hit_rate(batches[1:]),
            "speedup": ratios(seconds["0"], seconds[f"{i}"]).to_object(),
            "over_table": ratios(seconds[f"{i}"], seconds["table"]).to_object(),
        }
        for i, way in enumerate(ways)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Way:
    """A module that answers; `labels` say what it is made of."""

    module: nn.Module
    labels: dict[str, Any]
    is_exact: bool

    def hit_rate(self, batches: Sequence[Tensor]) -> float | None:
        """Of a static cache on these accesses; None where there is none."""
        if not isinstance(self.module, EncoderCache):
            return None
        return float(torch.isin(torch.cat(list(batches)), self.module.hot_ids_E).float().mean())


def _ways(logs: Logs, centroids: Centroids) -> list[_Way]:
    """The bare stack first; then every size of either cache, and the exact ways with all that is exact."""
    sizes = [("", n) for n in (0, *centroids)] + [(size, n) for size in BYTES for n in (0, *centroids, DEFAULT)]
    found = [_way(logs, _inner(logs, centroids, size, n), size, n, "static" if size else "") for size, n in sizes]
    policies: tuple[CachePolicy, ...] = ("static", "lru", "lfu")
    exact = (("", ""), *((size, policy) for size in BYTES for policy in policies))
    found += [_way(logs, _stack(logs, exact_extras=True), size, 0, policy, extras=True) for size, policy in exact]
    return found


def _inner(logs: Logs, centroids: Centroids, cache_bytes: str, n: int) -> DheEmbedding | CachedStack:
    """What answers where the encoder cache misses."""
    if n == DEFAULT:
        hot_E = hottest_ids(logs.earlier_N, entries_of(BYTES[cache_bytes], SPEC.dim))
        return DefaultEmbedding(_stack(logs), cold_sample(logs.earlier_N, hot_E, SAMPLE)).eval()
    return DecoderCache(_stack(logs), centroids[n]).eval() if n else _stack(logs)


def _way(
    logs: Logs, inner: DheEmbedding | CachedStack, cache_bytes: str, n: int, policy: str, *, extras: bool = False
) -> _Way:
    labels = {"cache": cache_bytes, "policy": policy, "n": n, "streaming_and_deduplicated": extras}
    module: nn.Module = inner
    if policy:
        entries = entries_of(BYTES[cache_bytes], SPEC.dim)
        if policy == "static":
            module = EncoderCache(inner, torch.from_numpy(hottest_ids(logs.earlier_N, entries)))
        else:
            module = OnlineCache(inner, entries, "lfu" if policy == "lfu" else "lru")
            module.eval()
            for part in np.array_split(logs.earlier_N[-4 * entries :], 1 + 4 * entries // IDS_PER_CALL):
                module(torch.from_numpy(part.copy()))
    return _Way(module=module.eval(), labels=labels, is_exact=n == 0)


def _stack(logs: Logs, *, exact_extras: bool = False) -> DheEmbedding:
    with torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(0)
        stack = DheEmbedding(logs.feature, SPEC).eval()
    set_streaming(stack, enabled=exact_extras)
    set_deduplication(stack, enabled=exact_extras)
    return stack


def _check(way: _Way, bare: _Way, ids_N: Tensor) -> None:
    difference = float((way.module(ids_N) - bare.module(ids_N)).abs().max())
    if way.is_exact and difference > _TOLERANCE:
        raise MeasurementError(f"{way.labels}: differs from the bare stack by {difference:.2g}")


def _next_batch(module: nn.Module, batches: Sequence[Tensor]) -> Callable[[], object]:
    """Each call answers the next batch; the first one of all is the warm-up's."""
    return partial(_answer_next, module, iter(batches))


def _answer_next(module: nn.Module, batches: Any) -> None:
    module(next(batches))
