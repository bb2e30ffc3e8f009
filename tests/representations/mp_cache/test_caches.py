import numpy as np
import pytest
import torch
from torch import Tensor

from profiles.errors import InputError
from representations.dhe.embedding import DheEmbedding
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.decoder_cache import DecoderCache, centroids_of_log
from representations.mp_cache.default_embedding import DefaultEmbedding, cold_sample
from representations.mp_cache.encoder_cache import EncoderCache
from representations.mp_cache.online_cache import OnlineCache
from representations.specs import DheSpec, Feature

FEATURE, SPEC = Feature(name="f", cardinality=500), DheSpec(dim=4, k=24, widths=(8,))
HOT = torch.tensor([2, 3, 7, 499])
IDS = torch.tensor([3, 0, 3, 7, 499, 5, 0, 2])
OFFSETS = torch.tensor([0, 3, 4])
EXACT = pytest.mark.parametrize("kind", ["static", "lru", "lfu", "all-centroids", "two"])


def cached(kind: str, stack: DheEmbedding) -> CachedStack:
    """Caches whose results are exact."""
    match kind:
        case "static":
            return EncoderCache(stack, HOT).eval()
        case "all-centroids":
            return DecoderCache(stack, stack.encoder(torch.arange(500)), search="product").eval()
        case "two":
            return EncoderCache(cached("all-centroids", stack), HOT).eval()
        case _:
            return OnlineCache(stack, 3, "lfu" if kind == "lfu" else "lru").eval()


def step(cache: CachedStack) -> None:
    optimizer = torch.optim.SGD(cache.parameters(), lr=0.5)
    torch.autograd.backward(cache.train()(IDS).square().sum())
    optimizer.step()
    cache.eval()


@EXACT
@pytest.mark.parametrize("offsets", [None, OFFSETS])
def test_a_cache_is_as_good_as_its_stack(kind: str, offsets: Tensor | None) -> None:
    stack = DheEmbedding(FEATURE, SPEC).eval()
    cache = cached(kind, stack)
    with torch.no_grad():
        for ids in (IDS, IDS.flip(0), torch.arange(8), IDS):
            assert torch.allclose(cache(ids, offsets), stack(ids, offsets), atol=1e-6)


@EXACT
def test_a_training_step_makes_it_compute_anew(kind: str) -> None:
    stack = DheEmbedding(FEATURE, SPEC)
    cache = cached(kind, stack)
    before = cache(IDS)
    step(cache)
    assert not torch.allclose(cache(IDS), before, atol=1e-3)
    assert torch.allclose(cache(IDS), stack(IDS), atol=1e-6)


def test_hits_do_not_reach_the_stack() -> None:
    cache = EncoderCache(DheEmbedding(FEATURE, SPEC), HOT).eval()
    cache(IDS)
    seen: list[list[int]] = []
    cache.stack.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0].tolist()))
    cache(IDS)
    cache(HOT)
    assert seen == [[0, 5, 0]]


def test_online_caches_keep_what_they_missed() -> None:
    cache = OnlineCache(DheEmbedding(FEATURE, SPEC), 2).eval()
    seen: list[list[int]] = []
    cache(torch.tensor([1]))
    cache.stack.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0].tolist()))
    for ids in ([1, 2, 2], [2, 1], [3, 3, 2], [3]):
        cache(torch.tensor(ids))
    assert seen == [[2], [3, 2]]


def test_other_tensors_are_searched_in_torch() -> None:
    class Other(torch.Tensor):
        """Not a plain tensor."""

    stack = DheEmbedding(FEATURE, SPEC).eval()
    cache = EncoderCache(stack, HOT).eval()
    ids = torch.cat([IDS, HOT])
    assert torch.allclose(cache(ids.as_subclass(Other)), stack(ids), atol=1e-6)


def test_a_static_cache_is_part_of_the_state() -> None:
    first = EncoderCache(DheEmbedding(FEATURE, SPEC, seed=1), HOT).eval()
    wanted = first(IDS)
    second = EncoderCache(DheEmbedding(FEATURE, SPEC, seed=2), HOT - 1).eval()
    second(IDS)
    second.load_state_dict(first.state_dict())
    assert torch.allclose(second(IDS), wanted, atol=1e-6)
    assert second.hot_ids_E.tolist() == HOT.tolist()
    assert "entries=4" in repr(second)


@pytest.mark.parametrize("search", ["product", "faiss", None])
def test_a_decoder_cache_gives_the_nearest_centroids_embedding(search: str | None) -> None:
    if search == "faiss":
        pytest.importorskip("faiss")
    stack = DheEmbedding(FEATURE, SPEC).eval()
    log = np.repeat(np.arange(6), [50, 40, 30, 2, 1, 1])
    cache = DecoderCache(stack, centroids_of_log(stack, log, 6), search=search).eval()
    assert torch.allclose(cache(torch.arange(6)), stack(torch.arange(6)), atol=1e-6)
    assert cache.search in {"product", "faiss"}


def test_frequent_ids_pull_centroids_to_them() -> None:
    stack = DheEmbedding(FEATURE, DheSpec(dim=4, k=256, widths=(8,))).eval()
    log = np.repeat(np.arange(40), [1000, 1000, *[1] * 38])
    centroids = centroids_of_log(stack, log, 3)
    cosines = torch.cosine_similarity(stack.encoder(torch.tensor([0, 1]))[:, None], centroids[None], dim=2)
    assert cosines.amax(dim=1).tolist() == pytest.approx([1, 1], abs=0.05)


@pytest.mark.parametrize("hot", [[], [3, 3], [4, 1]])
def test_hot_ids_are_distinct_and_ascending(hot: list[int]) -> None:
    with pytest.raises(InputError, match="hot ids must be distinct and ascending"):
        EncoderCache(DheEmbedding(FEATURE, SPEC), torch.tensor(hot, dtype=torch.int64))


def test_behind_hot_ids_one_embedding_serves_the_others() -> None:
    stack = DheEmbedding(FEATURE, SPEC)
    cache = EncoderCache(DefaultEmbedding(stack, torch.tensor([0, 5, 5])), HOT).eval()
    for _ in range(2):
        rows = cache(IDS)
        default = stack(torch.tensor([0, 5, 5])).mean(dim=0)
        is_hot = torch.isin(IDS, HOT)
        assert torch.allclose(rows[is_hot], stack(IDS)[is_hot], atol=1e-6)
        assert torch.allclose(rows[~is_hot], default.expand(3, -1), atol=1e-6)
        step(cache)


def test_cold_ids_are_drawn_as_they_are_accessed() -> None:
    log = np.repeat(np.arange(4), [500, 90, 9, 1])
    drawn = cold_sample(log, np.array([0]), 200)
    counts = torch.bincount(drawn, minlength=4)
    assert counts[0] == 0
    assert counts[1] > counts[2]
    assert set(cold_sample(log, np.arange(4), 9).tolist()) <= {0, 1, 2, 3}
    with pytest.raises(InputError, match="at least one id"):
        DefaultEmbedding(DheEmbedding(FEATURE, SPEC), drawn[:0])
