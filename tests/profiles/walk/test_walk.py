import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from profiles.errors import InputError
from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions, ProfileProgress
from profiles.providers.target import InputBatch, Target
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.walk import profile_model, profile_target
from tests.profiles.plug_ins import Counting, Doubling
from tests.profiles.small_models import Gate, Net, Raising, Recursive, net_inputs

QUICK = ProfileOptions(threads=1, seconds_per_visit=1e-4, budget_s=0.0)


def by_path(profile: ModelProfile) -> Mapping[str, ComponentProfile]:
    return {row.path: row for row in profile.rows}


@pytest.fixture(scope="module")
def rows() -> Mapping[str, ComponentProfile]:
    args, kwargs = net_inputs()
    return by_path(profile_model(Net(), args, kwargs, options=QUICK))


def test_rows_are_in_tree_order_with_self_after_its_module(rows: Mapping[str, ComponentProfile]) -> None:
    paths = list(rows)
    assert paths[:7] == ["", "(self)", "shared", "blocks", "blocks.0", "blocks.0.(self)", "blocks.0.linear"]
    assert paths[-1] == "unused"


def test_every_called_module_is_measured_in_the_model_and_alone(rows: Mapping[str, ComponentProfile]) -> None:
    for path in ("", "shared", "blocks.0", "blocks.1.linear", "norm", "drop", "table"):
        row = rows[path]
        assert (row.provenance, row.reason) == ("measured", "" if row.flops else "no FLOPs, MFU does not apply")
        assert row.in_situ is not None
        assert row.warm is not None
        assert row.warm.visits == row.in_situ.visits == 3


def test_times_in_the_model_tell_of_contention(rows: Mapping[str, ComponentProfile]) -> None:
    for path in ("", "(self)", "blocks.0.linear"):
        in_situ = rows[path].in_situ
        assert in_situ is not None
        assert (in_situ.cpu_ms is None) == (path != "")
        assert in_situ.wall_over_cpu is not None
        assert in_situ.wall_over_cpu > 0.5


def test_identity_shapes_and_work(rows: Mapping[str, ComponentProfile]) -> None:
    row = rows["shared"]
    assert (row.class_name, row.kind, row.calls, row.batch, row.dtype) == ("Linear", "leaf", 2, 4, "float32")
    assert row.flops == 2 * (2 * 4 * 8 * 8)
    assert row.parameter_bytes == 4 * 72
    assert row.mfu is None
    assert "float32[4, 8]" in row.spec
    assert rows["table"].bytes_moved == 12 * 8 + 4 * 4 * 8 + 12 * 4 * 8


def test_a_parent_s_own_work_is_what_its_children_do_not_do(rows: Mapping[str, ComponentProfile]) -> None:
    own = rows["blocks.0.(self)"]
    assert own.flops == 2 * 4 * 8 * 8
    assert own.in_situ is not None
    assert own.in_situ.median_ms > 0
    assert (own.kind, own.depth, own.warm, own.provenance) == ("self", 3, None, "measured")


def test_a_list_that_is_never_called_is_the_sum_of_its_blocks(rows: Mapping[str, ComponentProfile]) -> None:
    row, blocks = rows["blocks"], [rows["blocks.0"], rows["blocks.1"]]
    assert (row.provenance, row.calls) == ("aggregated", 0)
    assert row.reason == "never called in the forward pass; summed from its children"
    assert row.flops == sum(block.flops or 0 for block in blocks)
    assert row.warm is not None
    assert row.warm.median_ms == pytest.approx(sum(block.warm.median_ms for block in blocks if block.warm))


def test_a_module_that_is_never_called_has_a_row_with_the_reason(rows: Mapping[str, ComponentProfile]) -> None:
    row = rows["unused"]
    assert (row.provenance, row.reason) == ("skipped", "never called in the forward pass")
    assert row.parameter_bytes == 4 * 6


def test_content_hashes_tell_rows_apart(rows: Mapping[str, ComponentProfile]) -> None:
    assert len({row.content_hash for row in rows.values()}) == len(rows)


def test_the_summary_counts_modules_and_totals() -> None:
    args, kwargs = net_inputs()
    summary = profile_model(Net(), args, kwargs, options=QUICK).summary()
    assert summary["latency_ms"] > 0
    assert summary["profile_seconds"] > 0
    counts = {name: summary[name] for name in ("modules", "called", "measured", "aggregated", "skipped")}
    assert counts == {"modules": 13, "called": 11, "measured": 11, "aggregated": 1, "skipped": 1}
    assert summary["flops"] == 6 * 2 * 4 * 8 * 8
    assert summary["parameter_bytes"] == 4 * (3 * 72 + 4 * 8 + 800 + 6) + 8


def test_the_depth_limit_leaves_totals_as_they_are() -> None:
    args, kwargs = net_inputs()
    profile = profile_model(Net(), args, kwargs, options=replace(QUICK, max_depth=0))
    assert [row.path for row in profile.rows] == [""]
    assert profile.rows[0].flops == 6 * 2 * 4 * 8 * 8


def test_cold_latency_is_measured_when_asked() -> None:
    options = replace(QUICK, cold=True)
    row = profile_model(nn.Linear(4, 4), (torch.ones(1, 4),), options=options).rows[0]
    assert row.cold is not None
    assert row.warm is not None


def test_a_model_that_raises_is_summed_from_what_worked() -> None:
    rows = by_path(profile_model(nn.Sequential(nn.Linear(8, 8), Raising()), (torch.ones(2, 8),), options=QUICK))
    assert rows["1.good"].provenance == rows["0"].provenance == "measured"
    assert rows["1.never"].provenance == "skipped"
    for path in ("", "1"):
        assert rows[path].provenance == "aggregated"
        assert rows[path].reason.startswith("RuntimeError: mat1 and mat2")
    assert rows[""].flops == 2 * (2 * 2 * 8 * 8)
    assert rows["1"].warm == rows["1.good"].warm
    assert rows["1.(self)"].provenance == "skipped"


def test_a_module_that_raises_alone_keeps_its_time_in_the_model() -> None:
    rows = by_path(profile_model(Gate(), (torch.ones(2, 8),), options=QUICK))
    child = rows["child"]
    assert (child.provenance, child.reason) == ("aggregated", "RuntimeError: not now; summed from its children")
    assert child.in_situ is not None
    assert child.warm == rows["child.inner"].warm
    assert rows[""].provenance == "measured"


def test_a_leaf_that_raises_is_skipped_with_the_reason() -> None:
    profile = profile_model(nn.Linear(3, 3), (torch.ones(2, 4),), options=QUICK)
    assert profile.rows[0].provenance == "skipped"
    assert profile.rows[0].reason.startswith("RuntimeError: mat1")
    assert profile.summary()["latency_ms"] is None


def test_a_module_that_calls_itself_counts_once() -> None:
    rows = by_path(profile_model(Recursive(), (torch.ones(2, 8),), options=QUICK))
    assert [(path, row.calls, row.flops) for path, row in rows.items()] == [
        ("", 1, 3 * 2 * 2 * 8 * 8),
        ("(self)", 1, 0),
        ("linear", 3, 3 * 2 * 2 * 8 * 8),
    ]
    whole, own, linear = (rows[path].in_situ for path in ("", "(self)", "linear"))
    assert whole
    assert own
    assert linear
    assert 0 < own.median_ms < whole.median_ms
    assert linear.median_ms < whole.median_ms


def test_a_shared_module_has_a_row_in_each_parent_with_the_calls_made_there() -> None:
    shared = nn.Linear(8, 8)
    first, second = nn.Sequential(shared), nn.Sequential(shared)
    rows = by_path(profile_model(nn.Sequential(first, second, second), (torch.ones(4, 8),), options=QUICK))
    assert list(rows) == ["", "(self)", "0", "0.(self)", "0.0", "1", "1.(self)", "1.0"]
    assert {path: rows[path].calls for path in ("0.0", "1", "1.0")} == {"0.0": 1, "1": 2, "1.0": 2}
    assert rows["1.0"].flops == rows["1"].flops == 2 * (rows["0.0"].flops or 0)
    assert rows["1.0"].bytes_moved == rows["1"].bytes_moved == 2 * (rows["0.0"].bytes_moved or 0)
    assert (rows["0.0"].parameter_bytes, rows["1.0"].parameter_bytes, rows[""].parameter_bytes) == (288, 0, 288)
    assert rows["1.0"].reason == "shares its parameters with 0.0, where they count"
    assert rows["1.0"].provenance == "measured"


def test_a_model_without_tensors_can_be_profiled() -> None:
    class Nothing(nn.Module):
        def forward(self) -> int:
            return 1

    row = profile_model(Nothing(), options=QUICK).rows[0]
    assert (row.provenance, row.batch, row.dtype, row.device) == ("measured", 1, "float32", "local-cpu")


@pytest.mark.parametrize("make", [Net, Raising])
def test_the_model_and_the_generators_are_left_as_found(make: Any) -> None:
    model: nn.Module = make().train()
    args, kwargs = net_inputs() if make is Net else ((torch.ones(2, 8),), {})
    state = {name: value.clone() for name, value in model.state_dict().items()}
    numbers = (torch.random.get_rng_state(), random.getstate(), torch.get_num_threads())
    profile_model(model, args, kwargs, options=QUICK)
    assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())
    assert all(module.training for module in model.modules())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.equal(numbers[0], torch.random.get_rng_state())
    assert numbers[1:] == (random.getstate(), torch.get_num_threads())
    assert args[0].eq(1).all()


def test_rows_are_stored_and_come_back(tmp_path: Any, rows: Mapping[str, ComponentProfile]) -> None:
    store = ProfileStore(tmp_path)
    for row in rows.values():
        store.append(row)
    store.compact()
    assert {row.path: row for row in store.load()} == rows


def batches() -> tuple[InputBatch, ...]:
    first, second = (InputBatch(args=(torch.ones(size, 8),), weight=weight) for size, weight in ((4, 3.0), (16, 1.0)))
    return first, second


def test_several_batches_count_by_their_weight() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    profile = profile_target(Target(name="two", model=model, batches=batches()), options=QUICK)
    assert profile.name == "two"
    assert profile.rows[0].flops == 2 * 8 * 8 * (0.75 * 4 + 0.25 * 16)
    assert [(call.path, call.signature) for call in profile.calls if call.path == "0"] == [
        ("0", "(float32[4, 8])"),
        ("0", "(float32[16, 8])"),
    ]


def test_preprocessors_change_the_inputs_and_are_named_in_the_rows() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    doubling, seen = Doubling(refused=nn.ReLU), []
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].max().item()))
    args = (torch.ones(2, 8),)
    rows = by_path(profile_model(model, args, options=QUICK, preprocessors=[doubling]))
    assert set(seen) == {2.0}
    assert args[0].eq(1).all()
    assert {row.preprocessors for row in rows.values()} == {("doubling",)}
    assert (rows["1"].provenance, rows["1"].reason) == ("skipped", "RuntimeError: refused")
    assert rows["0"].provenance == "measured"
    assert doubling.entered > 10


def test_profilers_fill_the_rows_and_are_summed_where_the_parent_did_not_run() -> None:
    args, kwargs = net_inputs()
    rows = by_path(profile_model(Net(), args, kwargs, options=QUICK, profilers=[Counting(visits=2)]))
    row = rows["blocks.0.linear"]
    assert (row.figures["visits_made"], row.peak_memory_bytes) == (2.0, 7)
    assert (row.artefacts, row.reason) == ({"trace": "trace.json"}, "seen")
    assert "visits_made" not in rows["blocks.0.activation"].figures
    assert rows["blocks"].figures["visits_made"] == 4.0


@pytest.mark.parametrize("step", ["start", "visit", "finding"])
def test_a_profiler_that_raises_is_a_note_on_the_row(step: str) -> None:
    profile = profile_model(nn.Linear(2, 2), (torch.ones(1, 2),), options=QUICK, profilers=[Counting(raises_at=step)])
    row = profile.rows[0]
    assert (row.provenance, row.reason) == ("measured", f"counting: RuntimeError: no {step}")
    assert row.warm is not None


def test_a_profiler_is_opened_for_each_profile_with_the_folder_of_its_options(tmp_path: Path) -> None:
    profiler, folders = Counting(), [tmp_path / "first", None, tmp_path / "second"]
    for folder in folders:
        options = replace(QUICK, folder=folder)
        profile_model(nn.Linear(2, 2), (torch.ones(1, 2),), options=options, profilers=[profiler])
    assert profiler.folders == folders


def test_a_profiler_that_only_writes_files_is_refused_without_a_folder() -> None:
    with pytest.raises(InputError, match="profiler counting: must have a folder"):
        profile_model(nn.Linear(2, 2), (torch.ones(1, 2),), profilers=[Counting(needs_folder=True)])


def test_modules_left_out_keep_their_time_in_the_model() -> None:
    args, kwargs = net_inputs()
    rows = by_path(profile_model(Net(), args, kwargs, options=replace(QUICK, include=("blocks.*",))))
    assert {path for path, row in rows.items() if row.warm} == {path for path in rows if path.startswith("blocks.")} - {
        "blocks.0.(self)",
        "blocks.1.(self)",
    }
    row = rows[""]
    assert (row.provenance, row.warm) == ("skipped", None)
    assert row.reason == "not run alone: its path matches none of 'blocks.*'"
    assert row.in_situ is not None
    assert row.flops == 6 * 2 * 4 * 8 * 8


def test_modules_of_a_small_share_are_not_run_alone() -> None:
    model = nn.Sequential(nn.Linear(512, 512), nn.Identity())
    rows = by_path(profile_model(model, (torch.ones(256, 512),), options=replace(QUICK, min_share=0.1)))
    assert rows["1"].provenance == "skipped"
    assert rows["1"].reason.startswith("not run alone: takes ")
    assert rows["1"].in_situ is not None
    assert rows["0"].provenance == "measured"


def test_costs_tell_what_looking_took() -> None:
    costs = profile_model(nn.Linear(64, 64), (torch.ones(8, 64),), options=QUICK).costs
    names = ["capture_seconds", "forward_ms", "forward_p25_ms", "forwards", "hook_overhead", "profile_seconds"]
    assert sorted(costs) == names
    assert costs["forward_p25_ms"] <= costs["forward_ms"]
    assert 0 < costs["capture_seconds"] < costs["profile_seconds"]
    assert costs["forwards"] > 10


def test_the_interval_that_was_reached_is_in_the_row() -> None:
    profile = profile_model(nn.Linear(64, 64), (torch.ones(8, 64),), options=replace(QUICK, cold=True))
    figures = profile.rows[0].figures
    assert min(figures["interval_share"] or 0, figures["cold_interval_share"] or 0) > 0
    assert {"interval_share", "cold_interval_share"} <= {figure.name for figure in profile.figures}


def test_progress_is_told_module_by_module() -> None:
    told: list[ProfileProgress] = []
    target = Target(name="", model=nn.Sequential(nn.Linear(8, 8)), batches=batches())
    profile_target(target, options=QUICK, progress=told.append)
    assert [one.path for one in told] == ["", "0"] * 3
    assert (told[-1].done, told[-1].total) == (6, 6)


@pytest.fixture(scope="module")
def backward_rows() -> Mapping[tuple[str, str], ComponentProfile]:
    args, kwargs = net_inputs()
    profile = profile_model(Net(), args, kwargs, options=replace(QUICK, backward=True))
    assert profile.summary()["modules"] == 13
    return {(row.path, row.phase): row for row in profile.rows}


def test_backward_rows_stand_beside_the_forward_ones(
    backward_rows: Mapping[tuple[str, str], ComponentProfile],
) -> None:
    assert list(backward_rows)[:4] == [("", "forward"), ("", "backward"), ("(self)", "forward"), ("shared", "forward")]
    row = backward_rows["blocks.0.linear", "backward"]
    assert (row.provenance, row.flops) == ("measured", 2 * 2 * 4 * 8 * 8)
    assert row.warm is not None
    assert row.in_situ is not None
    assert row.content_hash != backward_rows["blocks.0.linear", "forward"].content_hash


def test_backward_figures_are_summed_by_phase(backward_rows: Mapping[tuple[str, str], ComponentProfile]) -> None:
    row, blocks = backward_rows["blocks", "backward"], [backward_rows[f"blocks.{i}", "backward"] for i in range(2)]
    assert row.provenance == "aggregated"
    assert row.flops == sum(block.flops or 0 for block in blocks)


def test_a_module_without_a_gradient_says_so() -> None:
    model = nn.Sequential(nn.ReLU(), nn.Linear(8, 8))
    profile = profile_model(model, (torch.ones(2, 8),), options=replace(QUICK, backward=True))
    rows = {(row.path, row.phase): row for row in profile.rows}
    row = rows["0", "backward"]
    assert (row.provenance, row.reason) == ("skipped", "no gradient flows from its outputs to an input or parameter")
    assert rows["1", "backward"].flops == 2 * 2 * 8 * 8


def test_gradients_are_left_as_found() -> None:
    model = nn.Linear(8, 8)
    model.weight.grad = torch.ones(8, 8)
    input_NF = torch.ones(2, 8, requires_grad=True)
    profile_model(model, (input_NF,), options=replace(QUICK, backward=True))
    assert model.weight.grad.eq(1).all()
    assert model.bias.grad is input_NF.grad is None


def test_a_profile_that_waits_for_a_quiet_core_has_all_its_rows() -> None:
    options = replace(QUICK, quiet_core=1.0, patience_s=0.1)
    profile = profile_model(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), (torch.ones(4, 8),), options=options)
    assert all(row.warm and row.in_situ for row in profile.modules)
    with pytest.raises(InputError, match=r"quiet_core must be > 0, but got 0.0"):
        replace(QUICK, quiet_core=0.0)
    with pytest.raises(InputError, match=r"patience_s must be >= 0, but got -1"):
        replace(QUICK, patience_s=-1)
