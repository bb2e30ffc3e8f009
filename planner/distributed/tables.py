"""Embedding tables as sharding sees them: sizes, ids per sample, and what the optimizer keeps beside the weights."""

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from profiles.edge import STRICT, parse_object, shown
from profiles.errors import CorruptFileError, InputError, UnknownNameError

__all__ = [
    "BYTES_PER_VALUE",
    "OPTIMIZERS",
    "TABLE_SETS",
    "EmbeddingTable",
    "TableDtype",
    "TableOptimizer",
    "read_tables",
    "require_unique_names",
    "shipped_tables",
    "total_bytes",
]

TableDtype = Literal["float32", "float16", "bfloat16", "int8"]
TableOptimizer = Literal["rowwise_adagrad", "adagrad", "sgd", "adam"]
BYTES_PER_VALUE: Mapping[str, int] = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
OPTIMIZERS: tuple[str, ...] = get_args(TableOptimizer)
TABLE_SETS = ("500", "1000", "2000", "mlperf")
# A float32 scale and bias per row of a quantised piece, as fbgemm's fused row-wise format has them.
_INT8_ROW_HEADER_BYTES = 8
# What an optimizer keeps, in float32: per row of a piece, and per value.
_STATE_BYTES: Mapping[str, tuple[int, int]] = {
    "rowwise_adagrad": (4, 0),
    "adagrad": (0, 4),
    "sgd": (0, 0),
    "adam": (0, 8),
}
_COLUMNS = ("name", "rows", "dim", "pooling", "dtype", "optimizer", "zipf")


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddingTable:
    """One table of `rows` x `dim` values, looked up with `pooling` ids per sample on average and summed.

    `zipf` is the exponent of the ids' popularity where it is known; None means that nothing is known of it.
    """

    __pydantic_config__: ClassVar = STRICT
    name: str
    rows: int
    dim: int
    pooling: float = 1.0
    dtype: TableDtype = "float32"
    optimizer: TableOptimizer = "rowwise_adagrad"
    zipf: float | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("name: must not be empty")
        for key in ("rows", "dim"):
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InputError(f"{key}: must be an integer >= 1, but got {shown(value)} (table {self.name})")
        if not (self.pooling > 0 and math.isfinite(self.pooling)):
            raise InputError(f"pooling: must be finite and > 0, but got {self.pooling} (table {self.name})")
        if self.dtype not in BYTES_PER_VALUE:
            raise UnknownNameError(f"table {self.name}: dtype", self.dtype, BYTES_PER_VALUE)
        if self.optimizer not in OPTIMIZERS:
            raise UnknownNameError(f"table {self.name}: optimizer", self.optimizer, OPTIMIZERS)
        if self.zipf is not None and not (self.zipf >= 0 and math.isfinite(self.zipf)):
            raise InputError(f"zipf: must be finite and >= 0, but got {self.zipf} (table {self.name})")

    @property
    def row_bytes(self) -> int:
        """Bytes of one row's weights."""
        return self.weight_bytes_per_row(self.dim)

    @property
    def state_bytes_per_row(self) -> int:
        """Bytes that the optimizer keeps for one whole row."""
        return self.state_bytes_of_row(self.dim)

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all weights."""
        return self.rows * self.row_bytes

    @property
    def total_bytes(self) -> int:
        """Bytes of all weights and of the optimizer's state."""
        return self.piece_bytes(self.rows, self.dim)

    def weight_bytes_per_row(self, columns: int) -> int:
        """Bytes of the weights of one row of a piece that has so many columns."""
        header = _INT8_ROW_HEADER_BYTES if self.dtype == "int8" else 0
        return columns * BYTES_PER_VALUE[self.dtype] + header

    def state_bytes_of_row(self, columns: int) -> int:
        """Bytes of optimizer state for one row of a piece that has so many columns; row-wise state is per piece."""
        per_row, per_value = _STATE_BYTES[self.optimizer]
        return per_row + per_value * columns

    def piece_bytes(self, rows: int, columns: int) -> int:
        """Bytes of a piece of `rows` x `columns`: weights and optimizer state."""
        return rows * (self.weight_bytes_per_row(columns) + self.state_bytes_of_row(columns))


def total_bytes(tables: Iterable[EmbeddingTable]) -> int:
    """Bytes of all tables, with their optimizer state."""
    return sum(table.total_bytes for table in tables)


def require_unique_names(tables: Sequence[EmbeddingTable]) -> None:
    """`InputError` naming every name that comes more than once."""
    counts = Counter(table.name for table in tables)
    if doubled := sorted(f"{name!r} ({count} times)" for name, count in counts.items() if count > 1):
        raise InputError(f"tables: names must be unique, but got {', '.join(doubled)}")


def shipped_tables(name: str) -> tuple[EmbeddingTable, ...]:
    """A table set of the package: 500, 1000 or 2000 generated tables, or the 26 of MLPerf's dlrm-v2 (`mlperf`)."""
    if name not in TABLE_SETS:
        raise UnknownNameError("tables", name, TABLE_SETS)
    return read_tables(Path(str(files("planner.distributed").joinpath(f"data/tables_{name}.csv"))))


def read_tables(path: Path | str) -> tuple[EmbeddingTable, ...]:
    """The tables of a CSV file with a header: name, rows, dim, and pooling, dtype, optimizer, zipf where given.

    Raises:
        InputError: no such file, unknown or missing columns, a bad value (names the line), or a name that comes twice.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            header = _header(path, next(lines, []))
            rows = [(lines.line_num, row) for row in lines if row]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptFileError(f"{path}: not a CSV file in UTF-8: {error}") from error
    if not rows:
        raise InputError(f"{path}: must hold at least one table")
    tables = _tables(path, header, rows)
    first: dict[str, int] = {}
    for (line, _), table in zip(rows, tables, strict=True):
        if table.name in first:
            raise InputError(
                f"{path}:{line}: names must be unique, but {table.name!r} stands on line {first[table.name]} too"
            )
        first[table.name] = line
    return tables


def _header(path: Path, cells: Sequence[str]) -> list[str]:
    header = [cell.strip().lstrip("\ufeff") for cell in cells]
    for name in header:
        if name not in _COLUMNS:
            raise UnknownNameError(f"{path}:1: column", name, _COLUMNS)
    if missing := [name for name in _COLUMNS[:3] if name not in header]:
        raise InputError(f"{path}:1: the header must name the columns {', '.join(missing)}")
    if len(set(header)) < len(header):
        raise InputError(f"{path}:1: every column must come once, but got {', '.join(header)}")
    return header


def _tables(path: Path, header: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> tuple[EmbeddingTable, ...]:
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(f"{path}:{line}: must have {len(header)} cells, but got {len(cells)}")
    bodies: list[dict[str, Any]] = [
        {name: cell.strip() for name, cell in zip(header, cells, strict=True) if cell.strip()} for _, cells in rows
    ]
    try:
        return parse_object(tuple[EmbeddingTable, ...], bodies)
    except InputError:
        # One by one, slowly, the first bad line names itself.
        for (line, _), body in zip(rows, bodies, strict=True):
            parse_object(EmbeddingTable, body, f"{path}:{line}")
        raise
