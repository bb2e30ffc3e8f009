from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions
from profiles.providers.target import InputBatch, Target
from profiles.records import ComponentProfile, Latency
from profiles.walk import profile_target

OPTIONS = ProfileOptions(threads=1, budget_s=0.0, cold=True, backward=True)
WEIGHTS = (0.75, 0.25)
FIGURES = ["flops", "bytes_moved", "touched_rows", "self_flops"]


class Scoring(nn.Module):
    """Looks ids up, and scores what is found: by a layer, and by a product of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.layer = nn.EmbeddingBag(50, 8), nn.Linear(8, 8)

    def forward(self, ids_NF: torch.Tensor) -> torch.Tensor:
        found_ND: torch.Tensor = self.layer(self.layer(self.table(ids_NF)))
        return found_ND @ self.layer.weight


def batch(samples: int, weight: float) -> InputBatch:
    return InputBatch(args=(torch.arange(samples * 3).view(samples, 3) % 50,), weight=weight)


def profile(*batches: InputBatch) -> ModelProfile:
    torch.manual_seed(0)
    return profile_target(Target(name="", model=Scoring(), batches=batches), options=OPTIONS)


@pytest.fixture(scope="module")
def both() -> ModelProfile:
    return profile(batch(4, 3.0), batch(10, 1.0))


@pytest.fixture(scope="module")
def alone() -> tuple[ModelProfile, ModelProfile]:
    return profile(batch(4, 1.0)), profile(batch(10, 1.0))


def figures(profile: ModelProfile, name: str, phase: str) -> Mapping[str, Any]:
    """By path, of the rows of that phase that have it."""

    def value(row: ComponentProfile) -> Any:
        if name == "self_flops":
            return row.flops if row.kind == "self" else None
        return row.figures.get(name) if name == "touched_rows" else getattr(row, name)

    found = {row.path: value(row) for row in profile.rows if row.phase == phase}
    return {path: value for path, value in found.items() if value is not None}


def weighted(profiles: Sequence[ModelProfile], name: str, phase: str) -> Mapping[str, float]:
    first, second = (figures(one, name, phase) for one in profiles)
    assert first.keys() == second.keys()
    return {path: WEIGHTS[0] * first[path] + WEIGHTS[1] * second[path] for path in first}


@pytest.mark.parametrize(
    ("name", "phase"), [*((name, "forward") for name in FIGURES), ("flops", "backward")], ids=lambda one: one
)
def test_what_is_counted_is_the_weighted_mean_of_the_batches(
    name: str, phase: str, both: ModelProfile, alone: tuple[ModelProfile, ModelProfile]
) -> None:
    found = figures(both, name, phase)
    assert any(found.values())
    assert found == pytest.approx(weighted(alone, name, phase))


@pytest.mark.parametrize("phase", ["forward", "backward"])
@pytest.mark.parametrize("name", ["warm", "cold"])
def test_latencies_are_the_weighted_sums_of_the_calls(name: str, phase: str, both: ModelProfile) -> None:
    latencies: Mapping[str, Latency] = figures(both, name, phase)
    assert {"", "table", "layer"} <= latencies.keys()
    for path, latency in latencies.items():
        calls = [call for call in both.calls if (call.path, call.phase) == (path, phase)]
        assert [call.weight for call in calls] == list(WEIGHTS)
        costs = [call.weight * call.count * getattr(call, name).median_ms for call in calls]
        assert latency.median_ms == pytest.approx(sum(costs))


def test_calls_of_batches_without_a_label_carry_their_place(both: ModelProfile) -> None:
    shown = [(call.batch, call.phase, call.count) for call in both.calls if call.path == "layer"]
    assert shown == [("0", "forward", 2), ("1", "forward", 2), ("0", "backward", 2), ("1", "backward", 2)]


def test_a_label_stays() -> None:
    named = profile(replace(batch(4, 1.0), label="of 4"), batch(10, 1.0))
    assert {call.batch for call in named.calls} == {"of 4", "1"}


def test_each_call_has_the_samples_of_its_batch_and_a_row_the_weighted_mean(both: ModelProfile) -> None:
    calls = [call for call in both.calls if call.path == "table" and call.phase == "forward"]
    assert [(call.batch, call.samples) for call in calls] == [("0", 4), ("1", 10)]
    (row,) = [row for row in both.rows if row.path == "table" and row.phase == "forward"]
    assert row.batch == round(0.75 * 4 + 0.25 * 10)
    assert "batch is the weighted mean of 4, 10" in row.reason
