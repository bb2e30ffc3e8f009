import pytest
import torch
from torch import Tensor, nn

from representations.dhe.embedding import DheEmbedding, set_streaming
from representations.dhe.streaming import block_rows, can_stream
from representations.specs import DheSpec, Feature

FEATURE = Feature(name="f", cardinality=5000)
SPEC = DheSpec(dim=4, k=1200, widths=(6,))
IDS = torch.arange(0, 5000, 19)


def results(embedding: DheEmbedding, *, stream: bool) -> list[Tensor]:
    set_streaming(embedding, enabled=stream)
    embedding.zero_grad()
    rows = embedding(IDS)
    torch.autograd.backward(rows.square().sum())
    return [rows.detach(), *(p.grad.clone() for p in embedding.parameters() if p.grad is not None)]


@pytest.mark.parametrize(
    "spec", [SPEC, DheSpec(dim=4, k=1200, widths=()), DheSpec(dim=4, k=1200, transform="gaussian")]
)
def test_blocks_change_neither_result_nor_gradient(spec: DheSpec) -> None:
    assert len(IDS) > 2 * block_rows(spec.k)
    embedding = DheEmbedding(FEATURE, spec)
    plain, streamed = results(embedding, stream=False), results(embedding, stream=True)
    assert len(plain) == len(streamed)
    for one, other in zip(plain, streamed, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)


def test_without_gradients_it_is_the_same() -> None:
    embedding = DheEmbedding(FEATURE, SPEC)
    with torch.no_grad():
        plain = embedding(IDS)
        set_streaming(embedding, enabled=True)
        assert torch.allclose(embedding(IDS), plain, atol=1e-6)
        assert embedding(IDS[:0]).shape == (0, 4)


def test_a_watched_part_is_called_as_ever() -> None:
    embedding = DheEmbedding(FEATURE, SPEC)
    set_streaming(embedding, enabled=True)
    calls: list[tuple[int, ...]] = []
    handle = embedding.encoder.register_forward_hook(lambda _m, _i, encoded: calls.append(encoded.shape))
    embedding(IDS[:9])
    embedding(IDS)
    assert calls == [(9, 1200), (len(IDS), 1200)]
    handle.remove()
    first = embedding.decoder[0]
    assert isinstance(first, nn.Linear)
    assert can_stream(IDS, embedding.encoder, first)


def test_what_fits_one_block_takes_the_plain_way() -> None:
    embedding = DheEmbedding(FEATURE, DheSpec(dim=4, k=24, widths=()))
    first = embedding.decoder[0]
    assert isinstance(first, nn.Linear)
    rows = block_rows(24)
    assert [can_stream(torch.zeros(n).long(), embedding.encoder, first) for n in (rows, rows + 1)] == [False, True]
