import re
from pathlib import Path

import pytest

from planner.distributed import EmbeddingTable, read_tables, shipped_tables, total_bytes
from profiles.errors import InputError
from tests.planner.distributed.small_clusters import table


def write(folder: Path, text: str) -> Path:
    path = folder / "tables.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("optimizer", "state_bytes"), [("rowwise_adagrad", 4), ("adagrad", 64), ("sgd", 0), ("adam", 128)]
)
def test_state_is_counted_by_optimizer(optimizer: str, state_bytes: int) -> None:
    one = EmbeddingTable(name="t", rows=10, dim=16, optimizer=optimizer)  # type: ignore[arg-type]
    assert one.state_bytes_per_row == state_bytes
    assert one.total_bytes == 10 * (64 + state_bytes)


@pytest.mark.parametrize(("dtype", "row_bytes"), [("float32", 64), ("float16", 32), ("bfloat16", 32), ("int8", 24)])
def test_rows_are_as_wide_as_their_dtype(dtype: str, row_bytes: int) -> None:
    assert EmbeddingTable(name="t", rows=1, dim=16, dtype=dtype).row_bytes == row_bytes  # type: ignore[arg-type]


def test_every_column_piece_keeps_row_wise_state_of_its_own() -> None:
    one = table(rows=10, dim=16)
    assert 2 * one.piece_bytes(10, 8) == one.total_bytes + 10 * 4


def test_the_mlperf_set_is_the_published_one() -> None:
    tables = shipped_tables("mlperf")
    assert (len(tables), sum(one.rows for one in tables)) == (26, 204_184_588)
    assert total_bytes(tables) == sum(one.rows * (128 * 4 + 4) for one in tables)


def test_generated_sets_have_as_many_tables_as_they_say() -> None:
    assert [len(shipped_tables(name)) for name in ("500", "1000", "2000")] == [500, 1000, 2000]


def test_optional_columns_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, "dim,name,rows,dtype,optimizer,zipf\n8,a,10,float16,adam,1.1\n4,b,5,,,\n")
    first, second = read_tables(path)
    assert (first.dtype, first.optimizer, first.zipf) == ("float16", "adam", 1.1)
    assert (second.dtype, second.pooling, second.zipf) == ("float32", 1.0, None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name,rows,dim\na,1,1\nb,2,2\na,3,3\n", "4: names must be unique, but 'a' stands on line 2 too"),
        ("name,rows,dim\na,0,1\n", "2: rows: must be an integer >= 1, but got 0 (table a)"),
        ("name,rows,dim\na,ten,1\n", "2: rows: must be a valid integer"),
        ("name,rows,dim,pooling\na,1,1,-1\n", "2: pooling: must be finite and > 0, but got -1.0 (table a)"),
        ("name,rows,dim,pooling\na,1,1,inf\n", "2: pooling: must be finite"),
        ("name,rows,dim\na,1\n", "2: must have 3 cells, but got 2"),
        ("name,rows\na,1\n", "1: the header must name the columns dim"),
        ("name,rows,dim,colour\na,1,1,red\n", "1: column: unknown name 'colour'"),
        ("name,rows,dim,rows\na,1,1,2\n", "1: every column must come once"),
        ("name,rows,dim\n", "must hold at least one table"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        read_tables(write(tmp_path, text))


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: cannot be read"):
        read_tables("nowhere.csv")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": ""}, "name: must not be empty"),
        ({"dim": 0}, "dim: must be an integer >= 1, but got 0"),
        ({"dtype": "float8"}, "unknown name 'float8'"),
        ({"optimizer": "lamb"}, "unknown name 'lamb'"),
        ({"zipf": -1.0}, "zipf: must be finite and >= 0"),
    ],
)
def test_a_bad_table_is_refused(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        EmbeddingTable(**{"name": "t", "rows": 1, "dim": 1, **changes})  # type: ignore[arg-type]


def test_an_unknown_set_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="known: 1000, 2000, 500, mlperf"):
        shipped_tables("3000")
