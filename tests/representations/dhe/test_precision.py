from itertools import count

import pytest
import torch

from representations.dhe.embedding import DheEmbedding
from representations.dhe.precision import choose_decoder_precision
from representations.specs import DheSpec, Feature


@pytest.mark.parametrize(("slower", "chosen"), [("bfloat16", "float32"), ("float32", "bfloat16")])
def test_the_faster_precision_stays_and_its_error_is_told(slower: str, chosen: str) -> None:
    embedding = DheEmbedding(Feature(name="f", cardinality=1000), DheSpec(dim=4, k=32, widths=(16,)))
    ticks = count()

    def clock() -> float:
        is_slow = embedding.decoder_dtype == getattr(torch, slower)
        return next(ticks) * (2.0 if is_slow else 1.0)

    precision = choose_decoder_precision(embedding, torch.arange(1000), clock=clock)
    assert precision.chosen == chosen
    assert embedding.decoder_dtype == getattr(torch, chosen)
    assert 1e-4 < precision.relative_error < 0.02
    assert embedding(torch.arange(3)).dtype == torch.float32
