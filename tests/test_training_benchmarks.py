from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from representations.build import build_model
from representations.datasets import load_dataset, split_dataset
from representations.presets import get_preset
from representations.specs import ModelSpec
from tests.benchmarks.rivals.plain_dlrm import PlainDlrm, plain_tables, torchrec_tables
from tests.benchmarks.training_throughput import trainers

SPLITS = split_dataset(load_dataset("flights", rows=3000), "random", 0)
SPEC = replace(get_preset("dlrm-flights"), features=SPLITS.features)


@pytest.mark.parametrize("tables", [plain_tables, torchrec_tables])
def test_rivals_compute_the_same_model(tables: Callable[[ModelSpec], nn.Module]) -> None:
    ours, rival = build_model(SPEC), PlainDlrm(SPEC, tables(SPEC))
    parameters = dict(rival.named_parameters())
    mlps = [name for name in parameters if not name.startswith("tables")]
    with torch.no_grad():
        for name, value in zip((n for n in parameters if n.startswith("tables")), _tables(ours), strict=True):
            parameters[name].copy_(value)
        for name, value in zip(mlps, _mlps(ours), strict=True):
            parameters[name].copy_(value)
    dense, ids = torch.randn(64, 1), torch.from_numpy(SPLITS.test.ids_NS[:64])
    torch.testing.assert_close(rival(dense, ids), ours(dense, ids), rtol=1e-5, atol=1e-6)


def _tables(model: nn.Module) -> list[torch.Tensor]:
    return [value for name, value in model.named_parameters() if name.startswith("embeddings")]


def _mlps(model: nn.Module) -> list[torch.Tensor]:
    return [value for name, value in model.named_parameters() if not name.startswith("embeddings")]


def test_every_trainer_goes_over_the_end_of_an_epoch() -> None:
    for train_batch in trainers(SPEC, SPLITS, 1000).values():
        for _ in range(5):
            train_batch()
