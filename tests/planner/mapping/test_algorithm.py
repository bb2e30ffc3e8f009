import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.mapping.algorithm import MappingResult, map_candidates
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.memory import memory_frame
from planner.study.device import DeviceSection
from profiles.errors import InfeasibleError, InputError
from profiles.hardware import get_hardware
from representations.components import work_of
from representations.specs import DheSpec, MixedDimensionSpec, ModelSpec, model_from_object
from serving_sim.plan import plan_from_object
from tests.planner.mapping.pools import (
    KAGGLE,
    TERABYTE,
    WORKLOAD,
    cost_model,
    device,
    dhes,
    hybrids,
    large_base,
    selects,
    tables,
    tiny_base,
    with_embeddings,
)

TINY = tiny_base()


def representations(result: MappingResult, on: str) -> list[str]:
    return [path.representation for path in result.plan.paths if path.device == on]


def used_bytes(result: MappingResult, on: str) -> int:
    return sum(path.parameter_bytes for path in result.plan.paths if path.device == on)


@pytest.mark.parametrize(("base", "dim", "total_bytes"), [(KAGGLE, 16, 4.5e9), (TERABYTE, 64, 25.3e9)])
def test_hw1_takes_hybrid_table_and_dhe_on_both_devices(base: ModelSpec, dim: int, total_bytes: float) -> None:
    candidates = (tables(base, dim), dhes(base, dim), hybrids(base, dim))
    result = map_candidates(candidates, (device("cpu", "32 GB"), device("gpu", "32 GB")), cost_model(), WORKLOAD)
    for name in ("cpu", "gpu"):
        assert representations(result, name) == ["hybrid", "table", "dhe"]
        assert used_bytes(result, name) == pytest.approx(total_bytes, rel=0.02)


def test_hw2_takes_the_narrow_table_on_the_cpu_and_a_compact_dhe_on_the_gpu() -> None:
    wide = [tables(KAGGLE, dim, accuracy=0.78 + dim / 1e4) for dim in (4, 8, 16)]
    compact = dhes(KAGGLE, 16, k=2048, widths=(512, 256))
    candidates = (*wide, compact, hybrids(KAGGLE, 16))
    result = map_candidates(candidates, (device("cpu", "1 GB"), device("gpu", "200 MB")), cost_model(), WORKLOAD)
    assert [path.candidate for path in result.plan.paths if path.device == "cpu"] == ["table-4", "dhe-16-k2048"]
    assert [path.candidate for path in result.plan.paths if path.device == "gpu"] == ["dhe-16-k2048"]
    assert used_bytes(result, "gpu") == pytest.approx(124e6, rel=0.05)


def test_what_was_left_out_says_by_how_many_bytes() -> None:
    result = map_candidates(
        (tables(TINY, 8), dhes(TINY, 8, k=16, widths=(32,))), (device("gpu", "200 kB"),), cost_model(), WORKLOAD
    )
    hybrid, table, compact = result.decisions
    assert (hybrid.role, hybrid.reason) == ("hybrid", "no hybrid among the candidates")
    missing = tables(TINY, 8).parameter_bytes - 200_000
    assert table.reason.endswith(f"the smallest, table-8, would fit with {missing:,} more bytes")
    assert (compact.role, compact.candidate) == ("compact", "dhe-8-k16")


def test_the_most_accurate_hybrid_wins_then_the_largest_k() -> None:
    candidates = [hybrids(TINY, 8, accuracy, k) for accuracy, k in ((0.8, 16), (0.9, 32), (0.9, 64))]
    result = map_candidates(candidates, (device("gpu", "1 GB"),), cost_model(), WORKLOAD)
    assert [path.candidate for path in result.plan.paths] == ["hybrid-8-k64"]


def test_a_hybrid_that_leaves_room_for_a_table_goes_before_one_that_does_not() -> None:
    table = tables(TINY, 8)
    small, large = hybrids(TINY, 8, 0.8, 16), hybrids(TINY, 8, 0.9, 1024)
    budget = f"{table.parameter_bytes + small.parameter_bytes} B"
    result = map_candidates((table, small, large), (device("gpu", budget),), cost_model(), WORKLOAD)
    assert [path.candidate for path in result.plan.paths] == ["hybrid-8-k16", "table-8"]


@pytest.mark.parametrize(("sla_ms", "expected"), [(200.0, ["hybrid"]), (1e-3, ["table"])])
def test_a_hybrid_takes_the_tables_room_only_if_it_meets_the_sla(sla_ms: float, expected: list[str]) -> None:
    hybrid = hybrids(TINY, 8)
    budget = f"{hybrid.parameter_bytes} B"
    workload = replace(WORKLOAD, sla_ms=sla_ms)
    result = map_candidates((tables(TINY, 8), hybrid), (device("gpu", budget),), cost_model(), workload)
    assert representations(result, "gpu") == expected


def test_a_dhe_that_a_chosen_path_beats_is_left_out_with_both_figures() -> None:
    candidates = (tables(TINY, 8, 0.80), dhes(TINY, 8, 0.79))
    result = map_candidates(candidates, (device("gpu", "1 GB"),), cost_model(), WORKLOAD)
    assert representations(result, "gpu") == ["table"]
    assert "dhe-8-k1024 (accuracy 0.7900" in result.decisions[-1].reason
    assert "is beaten by table-8 (accuracy 0.8000" in result.decisions[-1].reason


def test_a_select_may_be_the_path_between() -> None:
    candidates = (tables(KAGGLE, 16), selects(KAGGLE, 16, 0.7815), hybrids(KAGGLE, 16))
    result = map_candidates(candidates, (device("gpu", "32 GB"),), cost_model(), WORKLOAD)
    assert representations(result, "gpu") == ["hybrid", "table", "select"]
    assert result.decisions[-1].role == "between"


def test_a_device_that_holds_nothing_is_left_out_with_the_reason() -> None:
    devices = (device("cpu", "1 GB"), device("gpu", "10 kB"))
    result = map_candidates((tables(TINY, 8),), devices, cost_model(), WORKLOAD)
    assert [one.name for one in result.plan.devices] == ["cpu"]
    assert result.decisions[-1].role == "device"
    assert any(note.startswith("gpu: nothing fits 10 kB") for note in result.plan.notes)


def test_when_nothing_fits_anywhere_budgets_and_the_smallest_candidate_are_named() -> None:
    table = tables(TINY, 8)
    expected = rf"\(cpu 1,000 bytes, gpu 20 bytes\); the smallest is table-8 with {table.parameter_bytes:,} bytes"
    with pytest.raises(InfeasibleError, match=expected):
        map_candidates((table,), (device("cpu", "1 kB"), device("gpu", "20 B")), cost_model(), WORKLOAD)


def test_latency_covers_every_query_size_with_bounds_and_the_host_link() -> None:
    result = map_candidates((tables(TINY, 8),), (device("gpu", "1 GB"),), cost_model(), WORKLOAD)
    table = result.plan.paths[0].latency
    assert table.sizes == tuple(2**i for i in range(13))
    assert list(table.mean_ms) == sorted(table.mean_ms)
    assert all(low < mean < high for low, mean, high in zip(table.low_ms, table.mean_ms, table.high_ms, strict=True))
    unlinked = replace(get_hardware("v100"), host_link_bytes_per_s=None)
    here = CostModel(models={"gpu": RooflineDeviceModel(hardware=unlinked, work=work_of)})
    near = map_candidates((tables(TINY, 8),), (device("gpu", "1 GB"),), here, WORKLOAD)
    assert near.plan.paths[0].latency.mean_ms[0] < table.mean_ms[0]


def test_paths_that_share_on_chip_memory_are_priced_together() -> None:
    pool = (tables(large_base(), 16), hybrids(large_base(), 16))
    ipu = DeviceSection(name="ipu", kind="ipu-gc200")
    here = CostModel(models={"ipu": RooflineDeviceModel(hardware=ipu.hardware, work=work_of)})
    assert all(one.parameter_bytes < ipu.hardware.on_chip_bytes for one in pool)
    alone = map_candidates(pool[:1], (ipu,), here, WORKLOAD).plan
    both = map_candidates(pool, (ipu,), here, WORKLOAD).plan
    assert both.paths[1].candidate == alone.paths[0].candidate
    assert both.paths[1].latency.mean_ms[-1] > alone.paths[0].latency.mean_ms[-1]
    assert any("on chip one by one but not together" in note for note in both.notes)
    assert not any("on chip" in note for note in alone.notes)


def test_the_plan_reads_back_with_every_model() -> None:
    candidate = tables(TINY, 8)
    result = map_candidates((candidate,), (device("gpu", "1 GB"),), cost_model(), WORKLOAD, seed=3)
    text = json.dumps(result.plan.to_object(), allow_nan=False)
    plan = plan_from_object(json.loads(text))
    assert json.dumps(plan.to_object()) == text
    assert model_from_object(plan.paths[0].model or {}) == candidate.model
    assert (plan.paths[0].provenance, plan.paths[0].latency.spread, plan.seed) == ("estimated", "none", 3)
    assert plan.devices[0].busy_w == 250


def test_memory_is_shown_by_path_and_what_is_free() -> None:
    result = map_candidates((tables(TINY, 8), hybrids(TINY, 8)), (device("gpu", "1 GB"),), cost_model(), WORKLOAD)
    frame = memory_frame(result.plan)
    assert frame["path"].to_list() == ["hybrid@gpu", "table@gpu", "free"]
    assert frame["parameter_bytes"].sum() == 10**9
    assert frame["share"].sum() == pytest.approx(1.0)


def test_names_that_come_twice_and_empty_pools_are_refused() -> None:
    gpu = device("gpu", "1 GB")
    with pytest.raises(InputError, match=r"candidates: names must be unique, but \['table-8'\]"):
        map_candidates((tables(TINY, 8), tables(TINY, 8)), (gpu,), cost_model(), WORKLOAD)
    with pytest.raises(InputError, match=r"devices: must not be empty"):
        map_candidates((tables(TINY, 8),), (), cost_model(), WORKLOAD)
    with pytest.raises(InputError, match=r"'table-8': accuracy must be in \[0, 1\], but got 1.2"):
        tables(TINY, 8, accuracy=1.2)


@settings(deadline=None, max_examples=25)
@given(memory=st.integers(60_000, 3_000_000), accuracies=st.lists(st.floats(0.5, 1), min_size=5, max_size=5))
def test_budgets_always_hold_and_no_path_beats_another_of_its_kind(memory: int, accuracies: list[float]) -> None:
    a, b, c, d, e = accuracies
    pool = (tables(TINY, 8, a), tables(TINY, 4, b), dhes(TINY, 8, c, 16), dhes(TINY, 8, d, 64), hybrids(TINY, 8, e, 16))
    gpu = DeviceSection(name="gpu", kind="v100", memory=memory)
    try:
        result = map_candidates(pool, (gpu,), cost_model(), WORKLOAD)
    except InfeasibleError:
        assert all(one.parameter_bytes > memory for one in pool)
        return
    assert used_bytes(result, "gpu") <= memory
    kinds = representations(result, "gpu")
    assert len(kinds) == len(set(kinds))


def test_compressed_tables_are_tables_and_mixtures_what_is_dearest_in_them() -> None:
    count = len(TINY.features)
    narrow = with_embeddings(TINY, "narrow", [MixedDimensionSpec(dim=8, inner_dim=2)] * count)
    both = with_embeddings(TINY, "both", [DheSpec(dim=8, k=8, widths=(8,)), *narrow.embeddings[1:]])
    candidates = [TrainedCandidate(name=one.name, model=one, accuracy=a) for one, a in ((narrow, 0.7), (both, 0.8))]
    assert [one.role for one in candidates] == ["table", "dhe"]
    result = map_candidates(candidates, (device("cpu", "32 GB"),), cost_model(), WORKLOAD)
    assert [path.candidate for path in result.plan.paths] == ["narrow", "both"]
    assert [one.role for one in result.decisions if one.candidate] == ["table", "compact"]
