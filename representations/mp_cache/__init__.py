"""MP-Cache (Hsia et al., arXiv 2302.10872): what a DHE computed is kept, per id or per cluster of encodings."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes
from representations.mp_cache.policies import CachePolicy, OnlinePolicy, entries_of, hit_rate, hottest_ids

if TYPE_CHECKING:
    from representations.mp_cache.attach import cache_embeddings, uncached_stacks, wrap
    from representations.mp_cache.decoder_cache import DecoderCache, centroids_of_log
    from representations.mp_cache.default_embedding import DefaultEmbedding, cold_sample
    from representations.mp_cache.encoder_cache import EncoderCache
    from representations.mp_cache.online_cache import OnlineCache

__all__ = [
    "CachePolicy",
    "DecoderCache",
    "DefaultEmbedding",
    "EncoderCache",
    "OnlineCache",
    "OnlinePolicy",
    "cache_embeddings",
    "centroids_of_log",
    "cold_sample",
    "entries_of",
    "hit_rate",
    "hottest_ids",
    "uncached_stacks",
    "wrap",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "DecoderCache": "representations.mp_cache.decoder_cache",
        "DefaultEmbedding": "representations.mp_cache.default_embedding",
        "EncoderCache": "representations.mp_cache.encoder_cache",
        "OnlineCache": "representations.mp_cache.online_cache",
        "cache_embeddings": "representations.mp_cache.attach",
        "centroids_of_log": "representations.mp_cache.decoder_cache",
        "cold_sample": "representations.mp_cache.default_embedding",
        "uncached_stacks": "representations.mp_cache.attach",
        "wrap": "representations.mp_cache.attach",
    },
)
