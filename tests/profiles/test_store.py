import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.errors import CorruptFileError, StorageError
from profiles.parquet import FRAME_SCHEMA, profile_frame, read_profiles, write_profiles
from profiles.parts import TornLineWarning
from profiles.records import SCHEMA, ComponentProfile
from profiles.store import PARQUET_NAME, ProfileStore
from profiles.visits import Sample, Visit
from tests.profiles.rows import FINGERPRINT, any_profile, latency, row
from tests.profiles.test_parts import file_size_limit


def at(second: int, content_hash: str, **changes: str) -> ComponentProfile:
    fingerprint = replace(FINGERPRINT, timestamp=f"2030-01-01T00:00:{second:02}")
    return row(content_hash, fingerprint=fingerprint, **changes)


def append_many(folder: Path, prefix: str) -> None:
    store = ProfileStore(folder)
    for number in range(20):
        store.append(row(f"{prefix}{number}"))


def test_rows_come_back_oldest_first(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path / "new")
    assert store.load() == []
    rows = [at(2, "b"), at(1, "a", reason="x")]
    for profile in rows:
        store.append(profile)
    assert store.load() == [rows[1], rows[0]]
    assert store.known() == {"a", "b"}


def test_of_one_content_hash_the_newest_row_counts(tmp_path: Path) -> None:
    first, second = ProfileStore(tmp_path), ProfileStore(tmp_path)
    first.append(at(2, "a", reason="new"))
    second.append(at(1, "a", reason="old"))
    assert [profile.reason for profile in ProfileStore(tmp_path).load()] == ["new"]


def test_compacting_keeps_every_row_and_removes_the_parts(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append(at(1, "a"))
    assert store.compact() == tmp_path / PARQUET_NAME
    store.append(at(2, "b"))
    store.append(at(3, "a", reason="again"))
    before = store.load()
    store.compact()
    assert ProfileStore(tmp_path).load() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", PARQUET_NAME]


def test_compacting_an_empty_store_gives_an_empty_file(tmp_path: Path) -> None:
    assert pl.read_parquet(ProfileStore(tmp_path / "new").compact()).is_empty()


def test_the_frame_has_flat_columns(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append(row("a", warm=latency(2.0)))
    store.append(row("b"))
    frame = store.frame().sort("content_hash")
    assert frame.columns == list(FRAME_SCHEMA)
    assert frame["warm_median_ms"].to_list() == [2.0, None]


@settings(max_examples=10)
@given(st.lists(any_profile, max_size=3))
def test_profiles_survive_parquet(tmp_path_factory: pytest.TempPathFactory, profiles: list[ComponentProfile]) -> None:
    path = tmp_path_factory.getbasetemp() / "survive.parquet"
    write_profiles(path, profiles)
    assert read_profiles(path) == profiles
    assert pl.read_parquet_metadata(path)["schema"] == SCHEMA


def test_a_torn_last_line_costs_only_itself(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append(row("a"))
    (part,) = tmp_path.glob("part-*.jsonl")
    part.write_bytes(part.read_bytes() + b'{"schema": "recpl')
    with pytest.warns(TornLineWarning):
        assert ProfileStore(tmp_path).known() == {"a"}
    with pytest.warns(TornLineWarning):
        store.compact()
    assert store.known() == {"a"}


def test_a_bad_row_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "part-0.jsonl").write_text('{"schema": "other/1"}\n')
    with pytest.raises(CorruptFileError, match=r"part-0.jsonl:1: schema: must be"):
        ProfileStore(tmp_path).load()


@pytest.mark.parametrize("kept_share", [0.0, 0.5, 0.99])
def test_a_truncated_parquet_file_is_named(tmp_path: Path, kept_share: float) -> None:
    store = ProfileStore(tmp_path)
    store.append(row("a"))
    path = store.compact()
    body = path.read_bytes()
    path.write_bytes(body[: int(len(body) * kept_share)])
    with pytest.raises(CorruptFileError, match=f"{PARQUET_NAME}: not a whole Parquet file"):
        store.load()


def test_a_foreign_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / PARQUET_NAME
    profile_frame([]).write_parquet(path)
    with pytest.raises(CorruptFileError, match=r"profiles.parquet: its metadata has no 'schema'.*calibration left"):
        ProfileStore(tmp_path).load()
    pl.DataFrame({"x": [1]}).write_parquet(path, metadata={"schema": SCHEMA})
    with pytest.raises(CorruptFileError, match=PARQUET_NAME):
        ProfileStore(tmp_path).load()


def visit(second: int, content_hash: str) -> Visit:
    sample = Sample(latency_ms=0.1, wall_ms=0.2, cpu_ms=0.3)
    return Visit(content_hash=content_hash, timestamp=f"2030-01-01T00:00:{second:02}", warm=(sample,) * 2)


def test_visits_come_back_oldest_first_beside_the_rows(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    assert store.visits() == []
    for one in (visit(2, "a"), visit(1, "b"), visit(2, "a")):
        store.append_visit(one)
    store.append(row("c"))
    assert ProfileStore(tmp_path).visits() == [visit(1, "b"), visit(2, "a")]
    assert store.known() == {"c"}


@pytest.mark.parametrize("drop", [ProfileStore.compact, ProfileStore.drop_visits])
def test_visits_that_went_into_a_row_are_dropped(tmp_path: Path, drop: Callable[[ProfileStore], object]) -> None:
    store = ProfileStore(tmp_path)
    for one in (visit(1, "a"), visit(3, "a"), visit(1, "b")):
        store.append_visit(one)
    store.append(at(2, "a"))
    drop(store)
    assert store.known() == {"a"}
    assert store.visits() == [visit(1, "b"), visit(3, "a")]
    store.append_visit(visit(4, "b"))
    assert len(store.visits()) == 3


def test_a_torn_last_visit_costs_only_itself(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append_visit(visit(1, "a"))
    store.append_visit(visit(2, "a"))
    (part,) = tmp_path.glob("visits-*.jsonl")
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.warns(TornLineWarning):
        assert store.visits() == [visit(1, "a")]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [('{"schema": "other/1"}', "schema: must be"), ('{"schema": "recplan.visit/1"}', "visit: 'content_hash'")],
)
def test_a_bad_visit_names_file_and_line(tmp_path: Path, body: str, complaint: str) -> None:
    (tmp_path / "visits-0.jsonl").write_text(f"{body}\n")
    with pytest.raises(CorruptFileError, match=f"visits-0.jsonl:1: {complaint}"):
        ProfileStore(tmp_path).visits()


def test_a_full_disk_while_appending_loses_nothing_finished(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append(row("a"))
    (part,) = tmp_path.glob("part-*.jsonl")
    with file_size_limit(part.stat().st_size + 40), pytest.raises(StorageError, match=part.name):
        store.append(row("b"))
    store.append(row("c"))
    assert store.known() == {"a", "c"}


def test_a_full_disk_while_compacting_loses_nothing(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append(row("a"))
    with file_size_limit(100), pytest.raises(StorageError, match=PARQUET_NAME):
        store.compact()
    assert store.known() == {"a"}
    assert not list(tmp_path.glob("*.tmp"))


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot make the folder"):
        ProfileStore(tmp_path / "file" / "store").append(row())


def test_processes_append_and_compact_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_many, args=(tmp_path, prefix)) for prefix in "ab"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        ProfileStore(tmp_path).compact()
        ProfileStore(tmp_path).load()
    for writer in writers:
        writer.join()
    assert len(ProfileStore(tmp_path).load()) == 40


def test_a_forked_child_writes_a_part_of_its_own(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    store.append(row("parent"))
    child = multiprocessing.get_context("fork").Process(target=store.append, args=(row("child"),))
    child.start()
    child.join()
    assert len(list(tmp_path.glob("part-*.jsonl"))) == 2
    assert store.known() == {"parent", "child"}
