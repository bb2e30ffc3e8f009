from pathlib import Path

import numpy as np
import polars as pl
import pytest

from profiles.errors import CorruptFileError, InputError, UnknownNameError
from serving_sim.traces import BUNDLED, load_trace


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_traces_have_arrivals_and_sizes(name: str) -> None:
    trace = load_trace(name)
    assert trace.arrival_s_N is not None
    assert trace.size_N is not None
    assert len(trace.arrival_s_N) == len(trace.size_N) > 8000


def test_parquet_csv_and_plain_text_read_alike(tmp_path: Path) -> None:
    frame = pl.DataFrame({"size": [3, 4, 5], "arrival_s": [0.0, 0.5, 0.5]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "t.txt").write_text("0\n0.5\n\n0.5\n")
    traces = [load_trace(str(tmp_path / name)) for name in ("t.parquet", "t.csv", "t.txt")]
    for trace in traces:
        assert trace.arrival_s_N is not None
        assert trace.arrival_s_N.tolist() == [0.0, 0.5, 0.5]
    assert [None if trace.size_N is None else trace.size_N.tolist() for trace in traces] == [[3, 4, 5], [3, 4, 5], None]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("t.txt", "1\n2\n1.5\n", "row 3: arrival_s must not decrease, but got 1.5 after 2.0"),
        ("t.txt", "1\nnan\n", "row 2: arrival_s must be finite, but got 'nan'"),
        ("t.txt", "1\nlate\n", "row 2: arrival_s must be a number, but got 'late'"),
        ("t.txt", "\n", "must have at least one row of arrival_s, but is empty"),
        ("t.txt", "5\n5\n", "arrival_s must span more than a moment"),
        ("t.csv", "", "must have a column arrival_s or size, but has none"),
        ("t.csv", "time,n\n1,2\n", "must have a column arrival_s or size, but has n, time"),
        ("t.csv", "arrival_s,size\n", "must have at least one row of arrival_s"),
        ("t.csv", "arrival_s,size\n1,4\n2,0\n", "row 2: size must be > 0, but got 0.0"),
        ("t.csv", "arrival_s,size\n1,4\n2\n", "row 2: must have 2 fields, but has 1"),
    ],
)
def test_a_bad_row_is_named_with_its_file(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=f"{name}: {complaint}"):
        load_trace(str(tmp_path / name))


@pytest.mark.parametrize("name", ["t.parquet", "t.txt"])
def test_a_file_of_another_kind_is_corrupt(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\x00PAR0")
    with pytest.raises(CorruptFileError, match=name):
        load_trace(str(tmp_path / name))


def test_missing_values_in_parquet_are_named(tmp_path: Path) -> None:
    pl.DataFrame({"arrival_s": [0.0, None]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="row 2: arrival_s must be a number, but got None"):
        load_trace(str(tmp_path / "t.parquet"))


def test_neither_a_name_nor_a_file() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'azure-code'"):
        load_trace("azure-cod")
    with pytest.raises(InputError, match=r"gone\.csv: no such trace file"):
        load_trace("gone.csv")


def test_times_are_kept_as_they_are() -> None:
    times = load_trace("azure-code").arrival_s_N
    assert times is not None
    assert times[0] == 0.0
    assert np.all(np.diff(times) >= 0)
