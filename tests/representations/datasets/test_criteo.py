import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from profiles.errors import CorruptFileError, InputError
from representations.datasets import load_dataset
from representations.datasets.criteo import CriteoOptions, load_criteo
from representations.datasets.criteo_rows import CATEGORICAL_NAMES, DENSE_NAMES, read_chunks


def row(label: str = "0", dense: str = "1", value: str = "68fd1e64") -> str:
    return "\t".join([label, *[dense] * 13, *[value] * 26])


def written(path: Path, *rows: str) -> Path:
    data = "".join(f"{line}\n" for line in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["train.txt", "day_0.gz"])
def test_plain_and_compressed_files_are_read(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, row(), row("1", "7", "00000002"), row("0", "", ""))
    data = load_dataset("criteo-kaggle", path)
    assert data.labels_N.tolist() == [0, 1, 0]
    assert data.dense_NF[:, 0].tolist() == pytest.approx(np.log1p([1, 7, 0]).tolist())
    assert data.ids_NS[:, 25].tolist() == [1, 2, 0]
    assert (data.dense_names, tuple(f.name for f in data.features)) == (DENSE_NAMES, CATEGORICAL_NAMES)


def test_negative_counts_are_zero(tmp_path: Path) -> None:
    assert load_dataset("criteo-kaggle", written(tmp_path / "t", row(dense="-3"))).dense_NF.max() == 0


def test_rare_values_share_id_0(tmp_path: Path) -> None:
    path = written(tmp_path / "t", row(value="a"), row(value="b"), row(value="a"))
    data = load_criteo("kaggle", path, CriteoOptions(minimum_count=2))
    assert data.ids_NS[:, 0].tolist() == [1, 0, 1]
    assert data.features[0].cardinality == 2


def test_modulo_ids_stay_below_the_maximum(tmp_path: Path) -> None:
    values = ["ffffffff", "5", "f", ""]
    path = written(tmp_path / "t", *[row(value=value) for value in values])
    data = load_criteo("terabyte", path, CriteoOptions(maximum_cardinality=11))
    assert data.ids_NS[:, 0].tolist() == [1 + 0xFFFFFFFF % 10, 6, 6, 0]


def test_terabyte_ids_are_capped_at_ten_million(tmp_path: Path) -> None:
    data = load_dataset("criteo-terabyte", written(tmp_path / "t", row(value="ffffffff")), features=["C3"])
    assert data.ids_NS.tolist() == [[1 + 0xFFFFFFFF % 9_999_999]]


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_chunks_do_not_change_the_data(tmp_path: Path, chunk_rows: int) -> None:
    path = written(tmp_path / "t", *[row(value=f"{i % 3:x}") for i in range(7)])
    data = load_criteo("kaggle", path, CriteoOptions(chunk_rows=chunk_rows), features=["C2", "C1"], rows=5)
    assert data.ids_NS.tolist() == [[1, 1], [2, 2], [3, 3], [1, 1], [2, 2]]


def test_memory_is_bounded_by_the_chunk(tmp_path: Path) -> None:
    path = written(tmp_path / "t", *[row()] * 10)
    assert [len(chunk.labels_N) for chunk in read_chunks(path, chunk_rows=4)] == [4, 4, 2]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("0\t1\t2", "row 2: must have 40 columns, but has 3"),
        (row(label="2"), "row 2, label: must be 0 or 1, but got '2'"),
        (row(label=""), "row 2, label: must be 0 or 1, but got ''"),
        (row(dense="nan"), "row 2, I1: must be an integer, but got 'nan'"),
        (row(dense="1.5"), "row 2, I1: must be an integer, but got '1.5'"),
        (row(value="+12"), "row 2, C1: must be a hexadecimal number, but got '+12'"),
        (row(value="zz"), "row 2, C1: must be a hexadecimal number, but got 'zz'"),
    ],
)
def test_bad_rows_are_counted_and_the_first_described(tmp_path: Path, bad: str, message: str) -> None:
    path = written(tmp_path / "t", row(), bad, *[row()] * 200)
    with pytest.raises(CorruptFileError, match=re.escape(f"{path}: {message} (1 of 202 rows are bad")):
        load_dataset("criteo-kaggle", path)
    data = load_dataset("criteo-kaggle", path, max_bad_share=0.01)
    assert (len(data), data.bad_rows) == (201, 1)
    assert f"{path}: {message}" in data.notes[0]


def test_too_many_bad_rows_are_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "t", row(), "0\t1", row(value="x"))
    with pytest.raises(CorruptFileError, match=r"row 2: must have 40.*2 of 3 rows are bad; data\.max_bad_share = 0\.5"):
        load_dataset("criteo-kaggle", path, max_bad_share=0.5)
    with pytest.raises(CorruptFileError, match="none of the 1 rows can be used"):
        load_criteo("kaggle", written(tmp_path / "u", "0\t1"), CriteoOptions(maximum_bad_share=1))


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "day.gz", *[row(value=f"{i:x}") for i in range(500)])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CorruptFileError, match=r"day\.gz: truncated or damaged gzip file"):
        load_dataset("criteo-kaggle", path)
    (tmp_path / "plain.gz").write_text(row())
    with pytest.raises(CorruptFileError, match=r"plain\.gz: is not a gzip file"):
        load_dataset("criteo-kaggle", tmp_path / "plain.gz")
    (tmp_path / "empty").touch()
    with pytest.raises(CorruptFileError, match="empty: holds no rows"):
        load_dataset("criteo-kaggle", tmp_path / "empty")


def test_absent_files_and_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: no such file"):
        load_dataset("criteo-kaggle", tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_dataset("criteo-kaggle", tmp_path)
    with pytest.raises(InputError, match=r"data\.path: criteo-terabyte needs the path"):
        load_dataset("criteo-terabyte")


def test_bad_options_say_why() -> None:
    with pytest.raises(InputError, match="maximum_cardinality must be >= 2, but got 1"):
        CriteoOptions(maximum_cardinality=1)
    with pytest.raises(InputError, match="maximum_bad_share must be in"):
        CriteoOptions(maximum_bad_share=2)
    with pytest.raises(InputError, match="must be >= 1"):
        CriteoOptions(minimum_count=0)
