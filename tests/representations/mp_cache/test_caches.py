from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from profiles.errors import InputError, UnknownNameError
from representations.dhe.embedding import DheEmbedding
from representations.mp_cache.cached_stack import CachedStack
from representations.mp_cache.decoder_cache import DecoderCache, centroids_of_log
from representations.mp_cache.default_embedding import DefaultEmbedding, cold_sample
from representations.mp_cache.encoder_cache import EncoderCache
from representations.mp_cache.online_cache import OnlineCache
from representations.mp_cache.policies import OnlinePolicy, hottest_ids
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


@pytest.mark.parametrize("policy", ["lru", "lfu"])
@pytest.mark.parametrize("bad", [500, -7])
def test_a_call_that_failed_leaves_nothing_behind(policy: OnlinePolicy, bad: int) -> None:
    stack = DheEmbedding(FEATURE, SPEC).eval()
    cache = OnlineCache(stack, 8, policy).eval()
    for _ in range(2):
        with pytest.raises(InputError, match=f"feature 'f': ids must be in .*, but number 2 is {bad}"):
            cache(torch.tensor([1, 2, bad, 3]))
    ids = torch.tensor([1, 2, 3, 1])
    assert torch.allclose(cache(ids), stack(ids), atol=1e-6)


def test_a_stack_that_failed_makes_an_online_cache_forget() -> None:
    stack = DheEmbedding(FEATURE, SPEC).eval()
    cache = OnlineCache(stack, 8).eval()
    cache(IDS)

    def fail(*_: object) -> None:
        raise MemoryError

    hook = stack.register_forward_pre_hook(fail)
    with pytest.raises(MemoryError):
        cache(torch.tensor([400, 401]))
    hook.remove()
    ids = torch.tensor([400, 401, 3, 7])
    assert torch.allclose(cache(ids), stack(ids), atol=1e-6)


@pytest.mark.parametrize("bad", [500, -7])
@pytest.mark.parametrize("kind", ["default", "static", "lru", "all-centroids"])
def test_no_cache_answers_an_id_beyond_the_range(kind: str, bad: int) -> None:
    stack = DheEmbedding(FEATURE, SPEC).eval()
    cache = DefaultEmbedding(stack, HOT).eval() if kind == "default" else cached(kind, stack)
    with pytest.raises(InputError, match=f"feature 'f': ids must be in .*, but number 1 is {bad}"):
        cache(torch.tensor([3, bad]))
    with pytest.raises(InputError, match="must be integers"):
        cache(torch.tensor([3.0]))


@pytest.mark.parametrize("kind", ["default", "all-centroids"])
def test_an_id_beyond_the_range_is_nan_where_raising_would_wait(kind: str) -> None:
    class Other(torch.Tensor):
        """Not a plain tensor."""

    stack = DheEmbedding(FEATURE, SPEC).eval()
    cache = DefaultEmbedding(stack, HOT).eval() if kind == "default" else cached(kind, stack)
    rows = cache(torch.tensor([3, 500, -1]).as_subclass(Other))
    assert rows.isnan().all(dim=1).tolist() == rows.isnan().any(dim=1).tolist() == [False, True, True]


@pytest.mark.parametrize("kind", ["static", "lru", "all-centroids"])
def test_caches_take_integers_of_any_width(kind: str) -> None:
    cache = cached(kind, DheEmbedding(FEATURE, SPEC).eval())
    assert torch.equal(cache(IDS.int(), OFFSETS), cache(IDS, OFFSETS))


@pytest.mark.parametrize("policy", ["static", "fifo"])
def test_an_online_cache_admits_by_a_known_policy(policy: Any) -> None:
    with pytest.raises(UnknownNameError, match=f"cache policy: unknown name '{policy}'.*; known: lfu, lru"):
        OnlineCache(DheEmbedding(FEATURE, SPEC), 3, policy)


def test_kept_ids_are_ids_of_the_feature() -> None:
    stack = DheEmbedding(FEATURE, SPEC)
    with pytest.raises(InputError, match=r"feature 'f': ids must be in .*, but number 1 is 500"):
        EncoderCache(stack, torch.tensor([3, 500]))
    with pytest.raises(InputError, match="number 0 is -1"):
        DefaultEmbedding(stack, torch.tensor([-1]))


def test_a_call_without_ids_chooses_no_search() -> None:
    stack = DheEmbedding(FEATURE, SPEC).eval()
    cache = DecoderCache(stack, stack.encoder(HOT)).eval()
    assert cache(HOT[:0]).shape == (0, 4)
    assert cache.search is None
    cache(HOT)
    assert cache.search is not None


@pytest.mark.parametrize(("log", "message"), [([], "is empty"), ([0.5], "list of integers"), ([[1]], "shape")])
def test_a_log_is_one_list_of_integers(log: list[Any], message: str) -> None:
    log_N = np.array(log, dtype=None if log else np.int64)
    stack = DheEmbedding(FEATURE, SPEC)
    for use in (
        lambda: cold_sample(log_N, HOT.numpy(), 3),
        lambda: centroids_of_log(stack, log_N, 3),
        lambda: hottest_ids(log_N, 3),
    ):
        with pytest.raises(InputError, match=message):
            use()
