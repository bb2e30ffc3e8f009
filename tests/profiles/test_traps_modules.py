"""Trap 2: modules that are shared, tied, called in several ways or in none, scripted or compiled: a row or a reason."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from profiles.providers.target import InputBatch
from profiles.walk import profile_model
from profiles.walk.capture import observe
from profiles.walk.tracing import tracing
from profiles.walk.tree import module_tree
from tests.profiles.trap_models import QUICK, Passing, by_path, rows_of

X = torch.ones(4, 8)


class Tied(nn.Module):
    """A head that is the table's transpose, as in GPT-2."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids_B: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.head(self.table(ids_B))
        return output


class Sizes(nn.Module):
    """A layer at two sizes, one called through `.forward()`, one whose weight alone is used, and one that is unused."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.direct, self.borrowed, self.unused = (nn.Linear(8, 8) for _ in range(4))
        self.listed = nn.ModuleList([nn.ReLU()])
        self.named = nn.ModuleDict({"tanh": nn.Tanh()})

    def forward(self, x_BF: torch.Tensor) -> torch.Tensor:
        y_BF = self.layer(x_BF) + self.layer(x_BF[:2]).sum() + self.layer(x_BF[2:]).sum()
        y_BF = self.direct.forward(y_BF)
        y_BF = nn.functional.linear(y_BF, self.borrowed.weight)
        output_BF: torch.Tensor = self.named["tanh"](self.listed[0](y_BF))
        return output_BF


def test_tied_weights_count_once_in_their_parents() -> None:
    rows = rows_of(Tied(), torch.arange(3))
    assert rows[""].parameter_bytes == rows["table"].parameter_bytes == rows["head"].parameter_bytes == 10 * 8 * 4


def test_every_distinct_call_is_recorded_and_the_row_is_their_sum() -> None:
    profile = profile_model(Sizes(), (X,), options=QUICK)
    calls = [call for call in profile.calls if call.path == "layer"]
    assert [(call.signature, call.count) for call in calls] == [("(float32[4, 8])", 1), ("(float32[2, 8])", 2)]
    row = by_path(profile)["layer"]
    assert row.calls == 3
    assert row.flops == 2 * 8 * 8 * (4 + 2 * 2)
    assert row.warm is not None
    parts = [(call.warm.median_ms, call.count) for call in calls if call.warm]
    assert row.warm.median_ms == pytest.approx(sum(median_ms * count for median_ms, count in parts))


def test_a_module_called_through_forward_is_measured_in_the_model_and_alone() -> None:
    row = rows_of(Sizes(), X)["direct"]
    assert (row.provenance, row.calls, row.flops) == ("measured", 1, 2 * 4 * 8 * 8)
    assert row.in_situ is not None


def test_modules_without_calls_say_why() -> None:
    rows = rows_of(Sizes(), X)
    assert rows["unused"].reason == "never called in the forward pass"
    assert rows["borrowed"].reason == (
        "never called in the forward pass, but its parameters are used by another module"
    )
    assert {rows[path].provenance for path in ("unused", "borrowed")} == {"skipped"}


@pytest.mark.parametrize(("path", "child"), [("listed", "listed.0"), ("named", "named.tanh")])
def test_containers_are_the_sum_of_what_they_hold(path: str, child: str) -> None:
    rows = rows_of(Sizes(), X)
    assert (rows[path].provenance, rows[path].warm) == ("aggregated", rows[child].warm)


def test_scripted_and_traced_modules_run_in_one_piece() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(8, 8), nn.ReLU()))
    traced = torch.jit.trace(nn.Linear(8, 8), X)  # type: ignore[no-untyped-call]  # torch's own
    rows = rows_of(nn.Sequential(scripted, traced), X)
    assert [rows[path].provenance for path in ("0", "1", "0.0", "0.1")] == [*["measured"] * 2, *["skipped"] * 2]
    assert rows["0"].flops == rows["1"].flops == 2 * 4 * 8 * 8
    assert rows["0.0"].reason == "runs inside 0, which is one piece"
    assert rows["0.0"].parameter_bytes == 4 * 72
    assert [rows[path].class_name for path in ("0", "0.0", "1")] == ["Sequential", "Linear", "Linear"]


def compiled(module: nn.Module) -> nn.Module:
    wrapped = torch.compile(module, backend="eager")
    assert isinstance(wrapped, nn.Module)
    return wrapped


def compiled_in_place(module: nn.Module) -> nn.Module:
    module.compile(backend="eager")
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "inner"), [(compiled, "child._orig_mod.0"), (compiled_in_place, "child.0")], ids=["wrapped", "in place"]
)
def test_a_compiled_module_is_timed_as_it_is_and_seen_into_apart(
    make: Callable[[nn.Module], nn.Module], inner: str
) -> None:
    model = Passing(make(nn.Sequential(nn.Linear(8, 8), nn.ReLU())))
    with torch.no_grad():
        model(X)
    # A change of anything that the compiled code depends on, threads included, would compile it anew.
    with torch._dynamo.config.patch(error_on_recompile=True), torch.no_grad():
        profile = profile_model(model, (X,), options=replace(QUICK, threads=None))
        model(X)
    rows = by_path(profile)
    assert rows["child"].flops == 2 * 4 * 8 * 8
    assert rows["child"].in_situ is not None
    assert (rows[inner].provenance, rows[inner].in_situ) == ("measured", None)
    assert rows[inner].reason == "in the model it is compiled into child: seen and measured outside of it"
    assert profile.notes[0].startswith("compiled modules and fused paths were taken apart once")


def test_a_call_that_raises_is_no_call_of_the_ones_that_follow() -> None:
    model = Sizes()
    nodes = module_tree(model)
    with tracing(nodes, int) as trace:
        for size in (7, 8):
            try:
                model(torch.ones(4, size))
            except RuntimeError:
                continue
    assert [nodes[index].path for index, _ in trace.failures] == ["layer", ""]
    assert [nodes[span.node].path for span in trace.spans if span.caller is None] == [""]


def test_several_batches_weigh_as_they_say() -> None:
    batches = (InputBatch(args=(X,), weight=3), InputBatch(args=(X[:2],), label="small"))
    model = nn.Linear(8, 8)
    (seen,) = observe(model, module_tree(model), batches)
    assert [(call.batch, call.weight, call.count) for call in seen.calls] == [(0, 0.75, 1), (1, 0.25, 1)]
    assert seen.flops == 2 * 8 * 8 * (0.75 * 4 + 0.25 * 2)
    assert seen.bytes_moved == 4 * (72 + 2 * 8 * (0.75 * 4 + 0.25 * 2))
    assert seen.call_count == 1
