from dataclasses import replace
from pathlib import Path

from planner.cost_model.replaced_rows import replaced_notes
from profiles.component import make_component
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from tests.planner.cost_model.synthetic import profiles_of


def _slower(row: ComponentProfile, factor: float) -> ComponentProfile:
    assert row.warm
    later = replace(row.fingerprint, timestamp="2100-01-01T00:00:00+00:00")
    return replace(row, fingerprint=later, warm=replace(row.warm, p25_ms=factor * row.warm.p25_ms))


def test_a_store_that_contradicts_itself_is_told_and_its_newest_row_counts(tmp_path: Path) -> None:
    (row,) = profiles_of([make_component("linear", 8, {"in_features": 4, "out_features": 4})])
    store, slower = ProfileStore(tmp_path), _slower(row, 3.0)
    store.append(row)
    store.append(slower)
    assert store.load() == [slower]
    (note,) = replaced_notes(store.history(), row.device)
    assert "1 components" in note
    assert "factor of 3.00" in note


def test_rows_alike_and_those_of_other_devices_need_no_note() -> None:
    (row,) = profiles_of([make_component("linear", 8, {"in_features": 4, "out_features": 4})])
    assert replaced_notes([row, row, _slower(row, 1.05)], row.device) == ()
    assert replaced_notes([row, _slower(row, 3.0)], "another") == ()
