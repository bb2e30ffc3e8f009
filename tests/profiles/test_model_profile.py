from dataclasses import replace

import torch
from torch import nn

from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions
from profiles.walk import profile_model
from tests.profiles.rows import row

COUNTS = ("modules", "measured", "aggregated", "skipped", "left_out")


class Half(nn.Module):
    """Calls one of its modules."""

    def __init__(self) -> None:
        super().__init__()
        self.called, self.act, self.other = nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)

    def forward(self, x_ND: torch.Tensor) -> torch.Tensor:
        output_ND: torch.Tensor = self.act(self.called(x_ND))
        return output_ND


def counts(**filters: object) -> list[int]:
    options = replace(ProfileOptions(threads=1, budget_s=0.0), **filters)  # type: ignore[arg-type]  # one of many types
    summary = profile_model(Half(), (torch.ones(2, 4),), options=options).summary()
    return [summary[name] for name in COUNTS]


def test_what_filters_leave_out_is_counted_beside_what_could_not_be_run() -> None:
    assert counts() == [4, 3, 0, 1, 0]
    assert counts(include=("called", "other")) == [4, 1, 0, 1, 2]
    assert counts(classes=("Half",)) == [4, 1, 0, 0, 3]


def test_a_module_that_raised_counts_as_skipped() -> None:
    rows = (row("0", path=""), row("1", path="a").skipped("RuntimeError: it is not run alone"))
    summary = ModelProfile(rows=rows, profile_seconds=0.0).summary()
    assert (summary["skipped"], summary["left_out"]) == (1, 0)
