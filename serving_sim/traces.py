"""Traces of arrivals and sizes: bundled ones by name, or a file of the user's.

A file is Parquet or CSV with columns `arrival_s` and, where sizes are wanted, `size`; or plain text, one time per line.
The bundled traces are the Azure LLM inference traces 2023 (times in seconds from the first query; size in tokens).
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.errors import CorruptFileError, InputError, UnknownNameError

__all__ = ["BUNDLED", "Trace", "load_trace"]

BUNDLED = {"azure-conversation": "azure_conversation.parquet", "azure-code": "azure_code.parquet"}
_TABULAR = (".parquet", ".csv")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trace:
    """Arrival times (seconds, never decreasing) and, where the file has them, sizes (samples, > 0)."""

    source: str
    arrival_s_N: NDArray[np.float64] | None
    size_N: NDArray[np.float64] | None

    def column(self, name: str) -> NDArray[np.float64]:
        """`arrival_s` or `size`, where the trace has it; `InputError` where it has not."""
        values = self.arrival_s_N if name == "arrival_s" else self.size_N
        if values is None:
            raise InputError(f"{self.source}: must have a column {name}")
        return values


def load_trace(source: str) -> Trace:
    """The bundled trace of that name, or the trace in that file.

    Raises:
        UnknownNameError: neither a bundled trace nor a file.
        InputError: empty, not a number, not finite, out of order; names the file and the row (1 = first row of data).
        CorruptFileError: not the kind of file that its name ends in.
    """
    if source in BUNDLED:
        with as_file(files("serving_sim").joinpath("data", BUNDLED[source])) as file:
            columns = _read_parquet(file)
    elif (file := Path(source)).is_file():
        columns = _read(file)
    elif file.suffix or len(file.parts) > 1:
        raise InputError(f"{source}: no such trace file")
    else:
        raise UnknownNameError("trace", source, BUNDLED)
    if not {"arrival_s", "size"} & set(columns):
        raise InputError(
            f"{source}: must have a column arrival_s or size, but has {', '.join(sorted(columns)) or 'none'}"
        )
    arrivals, sizes = columns.get("arrival_s"), columns.get("size")
    return Trace(
        source=source,
        arrival_s_N=None if arrivals is None else _checked_times(arrivals, source),
        size_N=None if sizes is None else _checked_sizes(sizes, source),
    )


def _read(file: Path) -> dict[str, Sequence[Any]]:
    if file.suffix == ".parquet":
        return _read_parquet(file)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CorruptFileError(f"{file}: not a text file in UTF-8: {error}") from error
    if file.suffix == ".csv":
        return _read_csv(text, file)
    return {"arrival_s": [line for line in text.splitlines() if line.strip()]}


def _read_parquet(file: Path) -> dict[str, Sequence[Any]]:
    import polars as pl

    try:
        frame = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise CorruptFileError(f"{file}: not a Parquet file that can be read: {error}") from error
    return {name: frame[name].to_list() for name in frame.columns if name in {"arrival_s", "size"}}


def _read_csv(text: str, file: Path) -> dict[str, Sequence[Any]]:
    reader = csv.reader(text.splitlines())
    names = [name.strip() for name in next(reader, [])]
    rows = [row for row in reader if row]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise CorruptFileError(f"{file}: row {number}: must have {len(names)} fields, but has {len(row)}")
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return dict(zip(names, columns, strict=True))


def _checked_times(values: Sequence[Any], source: str) -> NDArray[np.float64]:
    times = _numbers(values, source, "arrival_s")
    late = np.flatnonzero(np.diff(times) < 0)
    if late.size:
        row = int(late[0]) + 1
        raise InputError(
            f"{source}: row {row + 1}: arrival_s must not decrease, but got {times[row]} after {times[row - 1]}"
        )
    if times[0] == times[-1]:
        raise InputError(f"{source}: arrival_s must span more than a moment, but every row says {times[0]}")
    return times


def _checked_sizes(values: Sequence[Any], source: str) -> NDArray[np.float64]:
    sizes = _numbers(values, source, "size")
    bad = np.flatnonzero(sizes <= 0)
    if bad.size:
        raise InputError(f"{source}: row {int(bad[0]) + 1}: size must be > 0, but got {sizes[bad[0]]}")
    return sizes


def _numbers(values: Sequence[Any], source: str, column: str) -> NDArray[np.float64]:
    if not len(values):
        raise InputError(f"{source}: must have at least one row of {column}, but is empty")
    try:
        at_once = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return _numbers_one_by_one(values, source, column)
    is_plain = at_once.ndim == 1 and np.isfinite(at_once).all()
    return at_once if is_plain else _numbers_one_by_one(values, source, column)


def _numbers_one_by_one(values: Sequence[Any], source: str, column: str) -> NDArray[np.float64]:
    """The same with a complaint that names the row."""
    numbers = np.empty(len(values))
    for place, value in enumerate(values):
        try:
            numbers[place] = float(value)
        except (TypeError, ValueError):
            raise InputError(f"{source}: row {place + 1}: {column} must be a number, but got {value!r}") from None
        if not math.isfinite(numbers[place]):
            raise InputError(f"{source}: row {place + 1}: {column} must be finite, but got {value!r}")
    return numbers
