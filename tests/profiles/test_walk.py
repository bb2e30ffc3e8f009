import math
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from profiles.errors import InputError
from profiles.model_profile import ModelProfile
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.walk import ProfileOptions, profile_model
from tests.profiles.small_models import Gate, Net, Raising, Recursive, net_inputs

QUICK = ProfileOptions(threads=1, seconds_per_visit=1e-4, interval=math.inf)


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


@pytest.mark.parametrize("bad", [{"max_depth": -1}, {"threads": 0}, {"visits": 1}, {"samples_per_visit": 0}])
def test_bad_options_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(InputError, match="but got"):
        ProfileOptions(**bad)  # type: ignore[arg-type]  # one option is a bool
