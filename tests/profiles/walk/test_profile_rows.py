from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

from profiles.profile_options import ProfileOptions
from profiles.walk import profile_model

QUICK = ProfileOptions(threads=1, seconds_per_visit=1e-4, budget_s=0.0)


class Guarded(nn.Module):
    """Has work of its own beside its child's, and runs only where its parent opens it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.is_open = False

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        if not self.is_open:
            raise RuntimeError("closed")
        output_BF: torch.Tensor = self.linear(x_BF @ torch.ones(8, 8))
        return output_BF


class Opening(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Guarded()

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        self.inner.is_open = True
        output_BF: torch.Tensor = self.inner(x_BF)
        self.inner.is_open = False
        return output_BF


def test_an_aggregated_row_keeps_the_flops_that_were_counted_in_the_model() -> None:
    rows = {row.path: row for row in profile_model(Opening(), (torch.ones(4, 8),), options=QUICK).rows}
    assert rows["inner"].provenance == "aggregated"
    assert rows["inner"].flops == 2 * (rows["inner.linear"].flops or 0) == 2 * 2 * 4 * 8 * 8


class Threaded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        with ThreadPoolExecutor(1) as pool:
            output_BF: torch.Tensor = pool.submit(self.inner, x_BF).result()
        return output_BF


def test_flops_that_were_not_seen_are_not_said_to_be_none() -> None:
    for row in profile_model(Threaded(), (torch.ones(4, 8),), options=QUICK).rows:
        assert row.flops is row.mfu is None
        assert row.kind == "self" or row.reason == "FLOPs not known: it runs in another thread or outside torch, unseen"
