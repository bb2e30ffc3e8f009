from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import nn

from profiles.analyses.regression import Regression, explain_regression
from profiles.errors import InputError, UnknownNameError
from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions
from profiles.profilers.memory import Memory
from profiles.walk import profile_model
from tests.profiles.rows import latency, row

QUICK = ProfileOptions(threads=1, seconds_per_visit=1e-4, budget_s=0.0)
MODEL_ALONE = ProfileOptions(threads=1, seconds_per_visit=1e-4, budget_s=0.0, include=("",))
EXACT = ("flops", "parameter_bytes", "memory_bytes")


class FeedForward(nn.Sequential):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class Block(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.feed = FeedForward(width, hidden)

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        x_BF = x_BF + self.mix(self.norm(x_BF))
        output_BF: torch.Tensor = x_BF + self.feed(x_BF)
        return output_BF


class Model(nn.Module):
    """Blocks of which each has a hidden width of its own, and a head that may be twice as deep."""

    def __init__(self, hidden: tuple[int, ...] = (32, 32, 32), head: int = 4) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(16, one) for one in hidden])
        self.head = nn.Linear(16, head)

    def forward(self, x_BF: torch.Tensor) -> Any:
        for block in self.blocks:
            x_BF = block(x_BF)
        return self.head(x_BF)


def profiled(model: nn.Module) -> ModelProfile:
    return profile_model(model, (torch.ones(64, 16),), options=QUICK, profilers=[Memory()])


@pytest.fixture(scope="module")
def plain() -> ModelProfile:
    return profiled(Model())


@pytest.fixture(scope="module")
def both(plain: ModelProfile) -> Regression:
    return explain_regression(plain.rows, profiled(Model(hidden=(32, 128, 32), head=64)).rows)


def test_exactly_the_two_planted_changes_are_named_as_a_whole(both: Regression) -> None:
    assert {module.path for module in both.changed} == {"blocks.1.feed", "head"}


def test_contributions_sum_to_the_difference_of_the_totals_in_every_metric(
    both: Regression, plain: ModelProfile
) -> None:
    assert set(both.parts) == {*EXACT, "latency_ms"}
    for metric, parts in both.parts.items():
        assert sum(part.change for part in parts) == pytest.approx(both.after[metric] - both.before[metric])
    assert both.before["flops"] == plain.rows[0].flops
    assert both.before["memory_bytes"] == plain.rows[0].peak_memory_bytes


@pytest.mark.parametrize("metric", ["flops", "parameter_bytes"])
def test_the_changes_explain_all_of_the_difference(both: Regression, metric: str) -> None:
    assert both.explained_share(metric) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("path", "restored"),
    [("blocks.1.feed", Model(head=64)), ("head", Model(hidden=(32, 128, 32)))],
)
def test_restoring_one_saves_what_was_predicted(both: Regression, path: str, restored: nn.Module) -> None:
    (module,) = [module for module in both.changed if module.path == path]
    root = profile_model(restored, (torch.ones(64, 16),), options=MODEL_ALONE).rows[0]
    assert both.after["flops"] - (root.flops or 0) == module.savings["flops"]
    assert both.after["parameter_bytes"] - (root.parameter_bytes or 0) == module.savings["parameter_bytes"]


def test_memory_is_traced_to_what_holds_it_at_the_peak(both: Regression) -> None:
    (feed,) = [module for module in both.changed if module.path == "blocks.1.feed"]
    # The hidden layer before and after its activation, 96 wider for 64 samples in float32.
    assert feed.savings["memory_bytes"] >= 64 * 96 * 4
    assert both.explained_share("memory_bytes") == pytest.approx(1.0, abs=0.05)


def test_a_new_layer_and_a_removed_one_are_named_where_they_stand() -> None:
    before, after = nn.Sequential(nn.Linear(16, 16), nn.ReLU()), nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.ReLU())
    found = explain_regression(profiled(before).rows, profiled(after).rows)
    assert [(module.before_path, module.after_path) for module in found.changed] == [(None, "1")]
    back = explain_regression(profiled(after).rows, profiled(before).rows)
    assert [(module.before_path, module.after_path, module.path) for module in back.changed] == [("1", None, "1")]


def test_where_everything_changed_the_model_is_named(plain: ModelProfile) -> None:
    wide = profile_model(nn.Linear(32, 32), (torch.ones(64, 32),), options=QUICK)
    narrow = profile_model(nn.Linear(16, 16), (torch.ones(64, 16),), options=QUICK)
    assert [module.path for module in explain_regression(narrow.rows, wide.rows).changed] == [""]
    assert explain_regression(plain.rows, plain.rows).changed == ()
    assert explain_regression(plain.rows, plain.rows).explained_share("flops") is None


def changes_of(found: Regression, metric: str) -> Mapping[str, float]:
    return {module.path: module.savings[metric] for module in found.changed}


def test_specs_of_other_kinds_are_compared_as_they_are() -> None:
    before = [
        row(path="", spec="[1]", flops=4.0),
        row(path="a", spec="x", flops=3.0),
        row(path="b", spec="y", flops=1.0),
    ]
    after = [
        row(path="", spec="[1]", flops=9.0),
        row(path="a", spec="z", flops=8.0),
        row(path="b", spec="y", flops=1.0),
    ]
    assert changes_of(explain_regression(before, after), "flops") == {"a": 5.0}


def test_what_was_not_measured_is_refused() -> None:
    timed = [row(path="", in_situ=latency())]
    with pytest.raises(InputError, match="flops was not measured in both"):
        explain_regression(timed, timed, ["flops"])
    with pytest.raises(InputError, match="must have rows"):
        explain_regression([], timed)
    with pytest.raises(UnknownNameError, match="speed"):
        explain_regression(timed, timed, ["speed"])
