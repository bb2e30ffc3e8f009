"""The rows of a Criteo click log, streamed in chunks: label, 13 integer and 26 hexadecimal columns, tab-separated.

Memory stays bounded by the chunk. A bad row (another number of columns, a label other than 0 or 1, a value that is no
number) is left out and counted, and the first one is described.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from profiles.errors import CorruptFileError, InputError

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = ["CATEGORICAL_NAMES", "DENSE_NAMES", "MISSING", "CriteoChunk", "read_chunks"]

DENSE_NAMES = tuple(f"I{i}" for i in range(1, 14))
CATEGORICAL_NAMES = tuple(f"C{i}" for i in range(1, 27))
COLUMNS = ("label", *DENSE_NAMES, *CATEGORICAL_NAMES)
MISSING = -1
_GZIP_MAGIC = b"\x1f\x8b"
_TABS = len(COLUMNS) - 1


@dataclass(frozen=True, kw_only=True, slots=True)
class CriteoChunk:
    """Good rows of one chunk: integers as given (0 where missing), categorical values as integers, -1 where missing."""

    labels_N: NDArray[np.float32]
    integers_NF: NDArray[np.int32]
    values_NS: NDArray[np.int64]
    bad_rows: int
    first_bad: str


def read_chunks(path: Path, *, chunk_rows: int = 25_000, rows: int | None = None) -> Iterator[CriteoChunk]:
    """The file's rows (at most the first `rows`), plain or gzip-compressed, `chunk_rows` at a time.

    Raises:
        InputError: no such file.
        CorruptFileError: a truncated or damaged gzip file.
    """
    try:
        with _open(path) as file:
            limited = islice(file, rows)
            first_line = 1
            while lines := list(islice(limited, chunk_rows)):
                yield _parse(path, lines, first_line)
                first_line += len(lines)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorruptFileError(f"{path}: truncated or damaged gzip file: {error}") from error
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP_MAGIC
    if path.suffix == ".gz" and not is_gzip:
        raise CorruptFileError(f"{path}: is not a gzip file")
    return cast("BinaryIO", gzip.open(path, "rb")) if is_gzip else path.open("rb")


def _parse(path: Path, lines: list[bytes], first_line: int) -> CriteoChunk:
    is_whole = np.array([line.count(b"\t") == _TABS for line in lines])
    whole = np.flatnonzero(is_whole)
    text = _text_frame([lines[i].rstrip(b"\r\n") for i in whole])
    numbers = _numbers(text)
    bad_cell = _bad_cells(text, numbers)
    is_good = ~bad_cell.any(axis=1)
    bad_rows = len(lines) - int(is_good.sum())
    table = numbers.to_numpy()[is_good]
    split = 1 + len(DENSE_NAMES)
    return CriteoChunk(
        labels_N=table[:, 0].astype(np.float32),
        integers_NF=np.nan_to_num(table[:, 1:split]).astype(np.int32),
        values_NS=np.nan_to_num(table[:, split:], nan=MISSING).astype(np.int64),
        bad_rows=bad_rows,
        first_bad=_first_bad(path, lines, first_line, whole, bad_cell, text) if bad_rows else "",
    )


def _text_frame(lines: list[bytes]) -> "DataFrame":
    import polars as pl

    text = pl.Series("line", [line.decode("utf-8", errors="replace") for line in lines], dtype=pl.String)
    return text.str.split_exact("\t", _TABS).struct.rename_fields(list(COLUMNS)).struct.unnest()


def _numbers(text: "DataFrame") -> "DataFrame":
    """Floats, which hold 32-bit values exactly; null where empty or not a number."""
    import polars as pl

    return text.select(
        pl.col("label", *DENSE_NAMES).cast(pl.Int32, strict=False).cast(pl.Float64),
        # A sign is no hexadecimal digit, though `to_integer` takes one.
        pl.when(~pl.col(CATEGORICAL_NAMES).str.starts_with("+"))
        .then(pl.col(CATEGORICAL_NAMES))
        .str.to_integer(base=16, dtype=pl.UInt32, strict=False)
        .cast(pl.Float64),
    )


def _bad_cells(text: "DataFrame", numbers: "DataFrame") -> NDArray[np.bool_]:
    import polars as pl

    empty = text.select(pl.all() == "").to_numpy()
    bad: NDArray[np.bool_] = numbers.select(pl.all().is_null()).to_numpy() & ~empty
    bad[:, 0] = ~np.isin(numbers["label"].to_numpy(), (0.0, 1.0))
    return bad


def _first_bad(
    path: Path,
    lines: list[bytes],
    first_line: int,
    whole: NDArray[np.int64],
    bad_cell: NDArray[np.bool_],
    text: "DataFrame",
) -> str:
    ragged = np.setdiff1d(np.arange(len(lines)), whole)
    wrong = np.flatnonzero(bad_cell.any(axis=1))
    if ragged.size and (not wrong.size or ragged[0] < whole[wrong[0]]):
        columns = lines[ragged[0]].count(b"\t") + 1
        return f"{path}: row {first_line + ragged[0]}: must have {len(COLUMNS)} columns, but has {columns}"
    column = int(np.flatnonzero(bad_cell[wrong[0]])[0])
    wanted = "0 or 1" if column == 0 else "an integer" if column <= len(DENSE_NAMES) else "a hexadecimal number"
    value = text[COLUMNS[column]][int(wrong[0])]
    return f"{path}: row {first_line + whole[wrong[0]]}, {COLUMNS[column]}: must be {wanted}, but got {value!r}"
