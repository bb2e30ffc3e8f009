from collections.abc import Callable

import pytest
import torch
from torch import nn

from profiles.errors import InputError
from representations.dhe.decoder import build_decoder
from representations.dhe.embedding import DheEmbedding, least_work, set_deduplication, set_streaming
from representations.specs import DheSpec, Feature

FEATURE = Feature(name="f", cardinality=50)
SPEC = DheSpec(dim=4, k=8, widths=(6,))
NORMED = DheSpec(dim=4, k=8, widths=(6,), norm="batch")
IDS = torch.tensor([3, 3, 7, 49, 0, 3, 7, 0])
OFFSETS = torch.tensor([0, 3, 4])


def test_the_decoder_is_linear_norm_activation_with_a_linear_end() -> None:
    decoder = build_decoder(NORMED)
    assert [name for name, _ in decoder.named_children()] == ["0", "norm_0", "mish_0", "1"]
    assert isinstance(decoder[-1], nn.Linear)


def test_equal_ids_have_equal_embeddings() -> None:
    rows = DheEmbedding(FEATURE, SPEC)(IDS)
    assert torch.allclose(rows[0], rows[5], atol=1e-6)
    assert not torch.allclose(rows[0], rows[2], atol=1e-3)


def test_bags_are_summed() -> None:
    embedding = DheEmbedding(FEATURE, SPEC)
    rows = embedding(IDS)
    wanted = torch.stack([rows[0:3].sum(0), rows[3], rows[4:].sum(0)])
    assert torch.allclose(embedding(IDS, OFFSETS), wanted, atol=1e-6)


@pytest.mark.parametrize("offsets", [None, OFFSETS])
@pytest.mark.parametrize(("spec", "training"), [(SPEC, True), (NORMED, False)])
def test_deduplication_changes_neither_result_nor_gradient(
    spec: DheSpec, offsets: torch.Tensor | None, *, training: bool
) -> None:
    embedding = DheEmbedding(FEATURE, spec).train(training)
    results = []
    for enabled in (False, True):
        set_deduplication(embedding, enabled=enabled)
        embedding.zero_grad()
        rows = embedding(IDS, offsets)
        torch.autograd.backward(rows.square().sum())
        results.append((rows.detach(), *(p.grad.clone() for p in embedding.parameters() if p.grad is not None)))
    for plain, deduplicated in zip(*results, strict=True):
        assert torch.allclose(plain, deduplicated, rtol=1e-4, atol=1e-6)


def test_batch_statistics_see_repeated_ids() -> None:
    plain, deduplicating = DheEmbedding(FEATURE, NORMED), DheEmbedding(FEATURE, NORMED)
    deduplicating.load_state_dict(plain.state_dict())
    set_deduplication(deduplicating, enabled=True)
    assert torch.equal(plain(IDS), deduplicating(IDS))


@pytest.mark.parametrize("deduplicate", [False, True])
@pytest.mark.parametrize("offsets", [None, OFFSETS])
def test_an_id_beyond_the_range_is_named_by_feature_and_place(
    offsets: torch.Tensor | None, *, deduplicate: bool
) -> None:
    embedding = DheEmbedding(FEATURE, SPEC)
    set_deduplication(embedding, enabled=deduplicate)
    ids = IDS.clone()
    ids[6] = 50
    with pytest.raises(InputError, match=r"feature 'f': ids must be in \[0, 50\), but number 6 is 50"):
        embedding(ids, offsets)


def test_ids_are_integers_of_any_width() -> None:
    embedding = DheEmbedding(FEATURE, SPEC)
    assert torch.equal(embedding(IDS.int(), OFFSETS), embedding(IDS, OFFSETS))
    with pytest.raises(InputError, match=r"feature 'f': ids must be integers, but got torch\.float32"):
        embedding(IDS.float())


@pytest.mark.parametrize("switch", [set_deduplication, set_streaming])
@pytest.mark.parametrize("before", [False, True])
def test_the_least_work_leaves_switches_as_they_were(switch: Callable[..., None], *, before: bool) -> None:
    embedding = DheEmbedding(FEATURE, SPEC)
    switch(embedding, enabled=before)
    wanted = (embedding.deduplicate, embedding.stream)
    with least_work(embedding):
        assert embedding.deduplicate
        assert embedding.stream
    assert (embedding.deduplicate, embedding.stream) == wanted
    with pytest.raises(InputError), least_work(embedding):
        embedding(IDS + 50)
    assert (embedding.deduplicate, embedding.stream) == wanted
