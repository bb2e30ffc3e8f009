import pytest
import torch

from representations.dhe.embedding import DheEmbedding
from representations.dhe.encoder import DheEncoder
from representations.dhe.precision import choose_decoder_precision
from representations.specs import DheSpec, Feature

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
pytest.importorskip("triton")


@pytest.mark.parametrize("cardinality", [5000, 2**31 - 1, 2**40, 2**61 - 1])
def test_the_gpu_encodes_as_the_cpu_does(cardinality: int) -> None:
    encoder = DheEncoder(37, cardinality, seed=1)
    ids = torch.cat([torch.tensor([0, cardinality - 1]), torch.randint(cardinality, (100,))])
    on_cpu = encoder(ids)
    assert torch.equal(encoder.cuda()(ids.cuda()).cpu(), on_cpu)


def test_an_id_beyond_the_range_is_a_row_of_nan() -> None:
    encoded = DheEncoder(8, 100).cuda()(torch.tensor([5, 100, -1], device="cuda"))
    assert encoded.isnan().all(dim=1).tolist() == [False, True, True]


def test_the_decoder_in_bfloat16_stays_close() -> None:
    embedding = DheEmbedding(Feature(name="f", cardinality=10**6), DheSpec(dim=16, widths=(512,))).cuda().eval()
    precision = choose_decoder_precision(embedding, torch.arange(8192, device="cuda"))
    assert precision.relative_error < 0.02
