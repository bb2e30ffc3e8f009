"""Traps 7 and 8: tables, operators that nobody counts, children that outlast their parent; how figures add up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from profiles.profilers import Figure, Finding, ProfilerRun
from profiles.providers.target import InputBatch, Target
from profiles.units import MS_PER_S
from profiles.walk import profile_model, profile_target
from profiles.walk.module_part import ModulePart
from profiles.walk.profile_rows import assemble
from profiles.walk.subject import Subject
from tests.profiles.rows import latency, row
from tests.profiles.small_models import Raising
from tests.profiles.trap_models import QUICK, by_path, observed, rows_of


@pytest.mark.parametrize("make", [nn.Embedding, nn.EmbeddingBag])
def test_a_table_moves_its_distinct_rows_and_has_no_mfu(make: Any) -> None:
    table = make(1000, 16)
    ids_BP = torch.tensor([[1, 1, 2], [2, 2, 2]])
    found = rows_of(table, ids_BP)[""]
    output_bytes = 4 * table(ids_BP).numel()
    assert found.bytes_moved == 8 * 6 + output_bytes + 2 * 16 * 4
    assert found.figures["touched_rows"] == 2
    assert (found.flops, found.mfu) == (0, None)
    assert found.reason == "no FLOPs, MFU does not apply"


def test_an_operator_that_nobody_counts_is_named_in_the_row_of_the_module_that_runs_it() -> None:
    class Twice(nn.Module):
        def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
            output_BF: torch.Tensor = torch.ops.recplan_figures.twice(x_BF)
            return output_BF

    with torch.library._scoped_library("recplan_figures", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        rows = rows_of(nn.Sequential(Twice(), nn.ReLU()), torch.ones(2, 2))
    assert rows["0"].reason == "FLOPs not counted of recplan_figures::twice"
    assert rows[""].reason == ""


def test_children_that_take_longer_alone_than_their_parent_stay_so() -> None:
    whole, child = row(path="", warm=latency(1.0)), row(path="child", warm=latency(2.0))
    parts = [ModulePart(index=0, parent=None, row=whole), ModulePart(index=1, parent=0, row=child)]
    assert [one.warm for one in assemble(parts)] == [latency(1.0), latency(2.0)]


class Sized:
    """Gives each module one figure per way of adding up, and a peak of memory."""

    name = "sized"
    visits = 1
    needs_folder = False
    figures = tuple(Figure(name=name, title=name, aggregation=name) for name in ("sum", "max", "none"))

    def open(self, folder: Path | None) -> "Sized":  # noqa: ARG002 (it writes no files)
        return self

    def start(self, subject: Subject) -> ProfilerRun | None:
        return _SizedRun(float(sum(parameter.numel() for parameter in subject.module.parameters())))


class _SizedRun:
    def __init__(self, size: float) -> None:
        self.size = size

    def visit(self) -> None:
        pass

    def finding(self) -> Finding:
        figures = {"sum": self.size, "max": self.size, "none": self.size, "peak_memory_bytes": int(self.size)}
        return Finding(figures=figures)


def test_a_module_that_raises_is_aggregated_from_its_children_by_the_rule() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8, bias=False), Raising())
    rows = by_path(profile_model(model, (torch.ones(2, 8),), options=QUICK, profilers=[Sized()]))
    whole, parts = rows[""], [rows["0"], rows["1"], rows["2"]]
    assert whole.provenance == parts[2].provenance == "aggregated"
    assert "; summed from its children without 1 of 2; bytes moved are a partial sum" in parts[2].reason
    assert whole.flops == sum(part.flops or 0 for part in parts) == 3 * 2 * 2 * 8 * 8
    assert whole.bytes_moved == sum(part.bytes_moved or 0 for part in parts)
    assert whole.figures == {"sum": 72 + 64 + 72, "max": 72}
    assert whole.peak_memory_bytes == 72
    assert whole.warm is not None
    assert whole.warm.median_ms == pytest.approx(sum(part.warm.median_ms for part in parts if part.warm))


def test_shares_come_from_the_sums_and_not_from_shares() -> None:
    """On a device whose peaks are known; the rows are those of this machine, taken to be measured there."""
    rows = rows_of(nn.Sequential(nn.Linear(64, 64), nn.ReLU()), torch.ones(32, 64))
    there = [replace(rows[path], device="v100", mfu=None, bandwidth_share=None) for path in ("", "0", "1")]
    parts = [
        ModulePart(index=0, parent=None, row=replace(there[0].skipped("it raised"), warm=None), is_aggregated=True),
        *(ModulePart(index=index, parent=0, row=there[index]) for index in (1, 2)),
    ]
    whole, linear, relu = assemble(parts)
    assert whole.warm is not None
    seconds = whole.warm.median_ms / MS_PER_S
    assert whole.mfu == pytest.approx((linear.flops or 0) / seconds / 14e12)
    assert whole.bandwidth_share == pytest.approx(
        ((linear.bytes_moved or 0) + (relu.bytes_moved or 0)) / seconds / 900e9
    )
    assert relu.mfu is None


def test_a_module_that_was_scaled_down_shows_what_was_asked_for_beside_what_it_has() -> None:
    model = nn.Sequential(nn.Embedding(10, 4))
    true_bytes = {"": 4_000_000, "0": 4_000_000}
    batches = (InputBatch(args=(torch.arange(3),)),)
    target = Target(name="scaled", model=model, batches=batches, true_parameter_bytes=true_bytes)
    rows = by_path(profile_target(target, options=QUICK))
    for path in ("", "0"):
        assert rows[path].parameter_bytes == 160
        assert rows[path].figures["true_parameter_bytes"] == 4_000_000


def test_attention_moves_the_bytes_of_the_projection_that_it_never_calls() -> None:
    x = torch.ones(2, 5, 16)
    seen = observed(nn.MultiheadAttention(16, 2, batch_first=True), x, x, x)
    assert seen["out_proj"].is_used
    assert (seen[""].bytes_moved or 0) > 4 * 4 * 16 * 16
