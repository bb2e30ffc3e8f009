import numpy as np
import pytest
import torch

from representations.build import build_model
from representations.specs import TableSpec
from serving_sim.plan import Ids
from serving_sim.replay.inputs import draw_inputs
from tests.serving_sim.replay.plans import MODELS, spec


@pytest.mark.parametrize("pooling", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("size", [1, 5, 64])
def test_a_model_takes_them_at_any_size(pooling: float, size: int) -> None:
    model = build_model(spec(TableSpec(dim=4), pooling)).eval()
    pool = draw_inputs(model.spec, Ids(), 64, seed=0)
    with torch.inference_mode():
        for place in (0, 3, 1000):
            assert model(*pool.inputs(size, place)).shape == (size,)


def test_ids_follow_the_load_s_skew_and_differ_by_place() -> None:
    even = draw_inputs(MODELS["table"], Ids(kind="uniform"), 4096, seed=0)
    skewed = draw_inputs(MODELS["table"], Ids(kind="zipf", exponent=2.0), 4096, seed=0)
    most = [np.bincount(pool.inputs(4096, 0)[1][:, 0].numpy()).max() for pool in (even, skewed)]
    assert most[1] > 10 * most[0]
    assert not torch.equal(even.inputs(64, 0)[1], even.inputs(64, 1)[1])


def test_a_log_s_ids_have_its_exponent() -> None:
    pool = draw_inputs(MODELS["table"], Ids(kind="log", source="scarab"), 256, seed=0)
    assert pool.inputs(256, 0)[1].max() < 50
