from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from profiles.analyses.diff import diff_profiles
from profiles.errors import InputError
from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions
from profiles.records import ComponentProfile, Latency
from profiles.walk import profile_model
from tests.profiles.rows import latency, row


def timed(median_ms: float, iqr_ms: float = 0.1) -> Latency:
    return replace(latency(median_ms), iqr_ms=iqr_ms)


def profile(times_ms: Mapping[str, float], iqr_ms: float = 0.1, name: str = "net", **changes: Any) -> ModelProfile:
    """A model of leaves with these times in the model, FLOPs that follow them, and nothing else."""
    leaves = [
        row(path=path, kind="leaf", depth=1, in_situ=timed(time_ms, iqr_ms), flops=1e9 * time_ms, **changes)
        for path, time_ms in times_ms.items()
    ]
    whole_ms = sum(times_ms.values())
    root = row(path="", class_name="Net", kind="container", in_situ=timed(whole_ms, iqr_ms), flops=1e9 * whole_ms)
    own = row(path="(self)", kind="self", depth=1, in_situ=timed(0.0, iqr_ms / 10))
    return ModelProfile(rows=(root, own, *leaves), profile_seconds=1.0, name=name)


SIX = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0, "f": 6.0}


def test_what_differs_by_more_than_both_spreads_is_named() -> None:
    metric = diff_profiles(profile(SIX), profile({**SIX, "b": 2.5, "c": 3.1})).metric("latency_ms")
    assert [one.part.path for one in metric.named] == ["b"]
    assert [(one.part.path, one.is_noise) for one in metric.differences] == [("b", False), ("c", True)]
    assert [metric.change, metric.noise_change] == pytest.approx([0.6, 0.1])
    assert not metric.is_noise


def test_flops_have_no_noise() -> None:
    metric = diff_profiles(profile(SIX), profile({**SIX, "c": 3.0001})).metric("flops")
    assert [one.part.path for one in metric.named] == ["c"]


def test_a_machine_that_drifted_is_told_and_is_noise() -> None:
    found = diff_profiles(profile(SIX), profile({path: 1.2 * time_ms for path, time_ms in SIX.items()}))
    assert found.metric("latency_ms").named == ()
    assert found.metric("latency_ms").is_noise
    assert found.notes[0].startswith("unchanged modules take 1.20 times as long after")


def test_equal_profiles_do_not_differ() -> None:
    found = diff_profiles(profile(SIX), profile(SIX))
    assert [(metric.name, metric.change, metric.differences) for metric in found.metrics] == [
        ("latency_ms", 0.0, ()),
        ("flops", 0.0, ()),
    ]
    assert found.changed == ()
    assert found.metrics[0].change_share == 0.0


def test_modules_that_came_and_went_are_named() -> None:
    found = diff_profiles(profile({"a": 1.0, "b": 2.0}), profile({"a": 1.0, "c": 4.0}, class_name="Conv"))
    named = {one.part.path: (one.part.before_path, one.part.after_path) for one in found.metric("latency_ms").named}
    assert named == {"c": (None, "c"), "b": ("b", None)}


def test_what_makes_two_profiles_hard_to_compare_is_told() -> None:
    other = profile(SIX)
    root = replace(other.rows[0], device="h100", batch=8, preprocessors=("compile",))
    notes = diff_profiles(profile(SIX), replace(other, rows=(root, *other.rows[1:]))).notes
    assert notes[:3] == (
        "device: local-cpu before, h100 after",
        "batch: 4 before, 8 after",
        "preprocessors: none before, compile after",
    )


def test_metrics_that_one_side_lacks_are_told_and_not_compared() -> None:
    found = diff_profiles(profile(SIX), profile(SIX))
    assert found.notes[-1].endswith("Memory at the model's peak (bytes) (profile both with the profiler memory)")
    with pytest.raises(InputError, match="memory_bytes was not measured in both profiles"):
        found.metric("memory_bytes")


def test_profiles_without_a_common_metric_are_refused() -> None:
    bare = ModelProfile(rows=(row(provenance="skipped"),), profile_seconds=0.0)
    with pytest.raises(InputError, match="no metric was measured in both"):
        diff_profiles(bare, bare)


def test_memory_is_compared_where_both_have_it() -> None:
    def with_memory(peak_bytes: float) -> ModelProfile:
        return ModelProfile(rows=(row(figures={"memory_at_peak_bytes": peak_bytes}),), profile_seconds=0.0)

    metric = diff_profiles(with_memory(1e6), with_memory(3e6)).metric("memory_bytes")
    assert (metric.before, metric.change, metric.change_share) == (1e6, 2e6, 2.0)


def trees() -> st.SearchStrategy[tuple[ComponentProfile, ...]]:
    def rows(flops: list[float]) -> tuple[ComponentProfile, ...]:
        paths = ("", "a", "a.x", "a.y", "b", "b.x")
        return tuple(row(path=path, flops=value) for path, value in zip(paths, flops, strict=True))

    return st.lists(st.integers(0, 10**9).map(float), min_size=6, max_size=6).map(rows)


@given(trees(), trees())
def test_the_parts_sum_to_the_difference(
    before: tuple[ComponentProfile, ...], after: tuple[ComponentProfile, ...]
) -> None:
    old, new = (ModelProfile(rows=rows, profile_seconds=0.0) for rows in (before, after))
    metric = diff_profiles(old, new).metric("flops")
    assert sum(one.part.change for one in metric.differences) == pytest.approx(metric.change)
    assert metric.change == pytest.approx((after[0].flops or 0) - (before[0].flops or 0))


def model(middle: int = 16, out: int = 4) -> nn.Module:
    blocks = [nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 8)) for width in (16, middle, 16)]
    return nn.Sequential(*blocks, nn.Linear(8, out)).eval()


def test_of_two_changed_submodules_exactly_these_are_named() -> None:
    options = ProfileOptions(threads=1, budget_s=0.0)
    before, after = (
        profile_model(net, (torch.ones(4, 8),), options=options) for net in (model(), model(middle=32, out=64))
    )
    found = diff_profiles(before, after)
    assert {one.path for one in found.changed} == {"1", "3"}
    for name in ("flops", "parameter_bytes"):
        metric = found.metric(name)
        assert {one.part.path.partition(".")[0] for one in metric.named} == {"1", "3"}
        assert sum(one.part.change for one in metric.named) == metric.change
        assert sum(one.savings[name] for one in found.changed) == metric.change


def test_the_object_is_plain_and_whole() -> None:
    body = diff_profiles(profile(SIX), profile({**SIX, "b": 2.5, "c": 3.1}, name="new")).to_object()
    assert (body["before"], body["after"], body["changed"]) == ("net", "new", [])
    latencies = body["metrics"]["latency_ms"]
    assert (latencies["named"], latencies["is_noise"]) == (["b"], False)
    assert [part["path"] for part in latencies["parts"]] == ["b", "c"]
    assert latencies["parts"][0]["change"] == pytest.approx(0.5)
