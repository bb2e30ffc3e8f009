import pickle
from dataclasses import replace

import pytest
import torch
from torch import nn

from profiles.errors import InputError
from profiles.profile_options import ProfileOptions
from profiles.providers.target import InputBatch, Target
from profiles.walk import walking
from profiles.walk.merging import merge_parts
from profiles.walk.module_part import ProfilePart

OPTIONS = ProfileOptions(threads=1, seconds_per_visit=1e-4, budget_s=0.0)


@pytest.fixture(scope="module")
def parts() -> list[ProfilePart]:
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    target = Target(name="small", model=model, batches=(InputBatch(args=(torch.ones(2, 4),)),), notes=("small",))
    with walking(target, options=OPTIONS) as walk:
        assert walk.paths == ("", "0", "1", "1.0", "1.1")
        return [walk.measure(["1.1", "0"]), walk.measure(["", "1"]), walk.measure(["1.0"])]


def test_shares_in_any_order_make_one_profile(parts: list[ProfilePart]) -> None:
    profile = merge_parts([parts[2], *parts[:2]])
    assert [row.path for row in profile.rows] == ["", "(self)", "0", "1", "1.(self)", "1.0", "1.1"]
    assert {row.provenance for row in profile.rows} == {"measured"}
    assert [call.path for call in profile.calls] == ["", "0", "1", "1.0", "1.1"]
    assert (profile.name, profile.notes) == ("small", ("small",))


def test_parts_travel(parts: list[ProfilePart]) -> None:
    assert merge_parts(pickle.loads(pickle.dumps(parts))) == merge_parts(parts)


def test_what_was_spent_adds_up_and_the_pass_is_that_of_the_first_part(parts: list[ProfilePart]) -> None:
    costs = merge_parts(parts).costs
    assert costs["forwards"] == pytest.approx(sum(part.costs["forwards"] for part in parts))
    assert costs["forward_ms"] == parts[0].costs["forward_ms"]


def test_of_a_module_measured_twice_the_first_part_counts(parts: list[ProfilePart]) -> None:
    other = replace(parts[2], modules=tuple(replace(one, row=one.row.skipped("late")) for one in parts[2].modules))
    assert "late" not in {row.reason for row in merge_parts([*parts, other]).rows}


def test_no_part_or_one_without_the_parents_is_refused(parts: list[ProfilePart]) -> None:
    with pytest.raises(InputError, match="at least one"):
        merge_parts([])
    with pytest.raises(InputError, match=r"parent of '1\.0'"):
        merge_parts(parts[2:])


def test_a_path_of_no_module_is_refused() -> None:
    target = Target(name="", model=nn.ReLU(), batches=(InputBatch(args=(torch.ones(2),)),))
    with walking(target, options=OPTIONS) as walk, pytest.raises(InputError, match="but got 'nowhere'"):
        walk.measure(["nowhere"])
