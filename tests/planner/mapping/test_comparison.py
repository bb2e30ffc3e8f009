import json
from dataclasses import replace

import pytest

from planner.mapping.algorithm import MappingResult, map_candidates
from planner.mapping.comparison import compare_mappings
from planner.mapping.feature_suggestion import suggest_features
from planner.mapping.tables import mapping_tables
from planner.study.device import DeviceSection
from tests.planner.mapping.pools import WORKLOAD, cost_model, device, dhes, hybrids, tables, tiny_base
from tests.planner.mapping.test_trial_gains import trials

TINY = tiny_base()
POOL = (tables(TINY, 8, 0.78), tables(TINY, 4, 0.775), dhes(TINY, 8, 0.785, 64), hybrids(TINY, 8, 0.79, 64))


def compared(qps: float, *devices: DeviceSection) -> MappingResult:
    load = replace(WORKLOAD, qps=qps, sla_ms=5.0)
    result = map_candidates(POOL, devices, cost_model(), load)
    return replace(result, comparison=compare_mappings(result.plan, POOL, devices, cost_model(), load))


@pytest.mark.parametrize("qps", [10.0, 60_000.0])
def test_algorithm_1_never_passes_the_exact_mapping(qps: float) -> None:
    found = compared(qps, device("cpu", "1 GB"), device("gpu", "1 GB")).comparison
    assert found is not None
    assert 0 <= found.gap < 1
    assert found.is_proven
    assert found.algorithm.correct_per_s <= found.exact.correct_per_s * (1 + 1e-4)


def test_a_hybrid_that_takes_the_tables_room_costs_what_the_gap_says() -> None:
    room = f"{POOL[3].parameter_bytes} B"
    low, high = (compared(qps, device("cpu", room)).comparison for qps in (10.0, 200_000.0))
    assert low is not None
    assert high is not None
    assert low.gap == pytest.approx(0, abs=1e-4)
    assert high.algorithm.chosen != high.exact.chosen
    assert high.gap > 0.05


def test_tables_show_both_mappings_and_more_memory() -> None:
    result = compared(60_000.0, device("cpu", "1 GB"), DeviceSection(name="gpu", kind="v100", memory="200 kB"))
    decisions, both, more = mapping_tables(result)
    assert decisions.columns == ("device", "step", "candidate", "why")
    assert [row[0] for row in both.rows] == ["Algorithm 1", "exact"]
    assert both.notes[0].startswith("gap ")
    assert {row[0] for row in more.rows} == {"gpu"}
    assert all(len(row) == len(more.columns) for row in more.rows)


def test_the_comparison_is_json() -> None:
    result = compared(60_000.0, device("cpu", "1 GB"), DeviceSection(name="gpu", kind="v100", memory="200 kB"))
    assert result.comparison is not None
    body = json.loads(json.dumps(result.comparison.to_object(), allow_nan=False))
    assert body["gap"] == pytest.approx(result.comparison.gap)
    assert body["more_memory"][0]["extra_bytes"] > 0
    assert {"device", "candidate", "query_share", "time_share"} <= body["exact"]["paths"][0].keys()


def test_features_are_shown_with_what_each_table_gains() -> None:
    result = compared(10.0, device("gpu", "1 GB"))
    features = suggest_features(trials(), device("gpu", "1 GB"), cost_model(), WORKLOAD)
    table = mapping_tables(replace(result, features=features))[-1]
    assert [row[:2] for row in table.rows[:2]] == [("a", "table"), ("b", "DHE")]
    assert any("never trained" in note for note in table.notes)
    assert any("not judged: d" in note for note in table.notes)
    silent = suggest_features(POOL[:1], device("gpu", "1 GB"), cost_model(), WORKLOAD)
    assert "no choice: no trial has a DHE" in mapping_tables(replace(result, features=silent))[-1].notes[0]
