"""The bundled flights data: will a flight of 2013 from New York arrive more than 15 minutes late?

327,346 rows in time order, CC0 (nycflights13). Not a click log, but real labels with high-cardinality features.
"""

from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from profiles.errors import CorruptFileError, InputError
from representations.datasets.columns import check_row_limit, refuse_bad_share, selected
from representations.datasets.dataset import Dataset
from representations.specs import Feature

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = ["FLIGHTS_FEATURES", "load_flights"]

FLIGHTS_FEATURES = ("tailnum", "flight", "carrier", "origin", "dest", "hour", "minute", "month", "day")
_LABEL, _DENSE = "label", "distance"


def load_flights(
    path: Path | None = None,
    features: Sequence[str] | None = None,
    rows: int | None = None,
    seed: int = 0,
    max_bad_share: float = 0.0,
) -> Dataset:
    """The bundled rows, or those of another Parquet file with the same columns; dense is log(1 + distance)."""
    del seed
    refuse_bad_share("flights", max_bad_share)
    check_row_limit(rows)
    names = selected("flights", features, FLIGHTS_FEATURES)
    if path is not None:
        return _dataset(_read(path, rows), str(path), names)
    with as_file(files("representations").joinpath("data/flights.parquet")) as bundled:
        return _dataset(_read(bundled, rows), "flights", names)


def _read(path: Path, rows: int | None) -> "DataFrame":
    import polars as pl

    try:
        frame = pl.read_parquet(path, n_rows=rows)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        raise CorruptFileError(f"{path}: cannot be read as Parquet: {error}") from error
    missing = [name for name in (_LABEL, _DENSE, *FLIGHTS_FEATURES) if name not in frame.columns]
    if missing:
        raise InputError(f"{path}: lacks column {missing[0]!r}; has: {', '.join(frame.columns)}")
    return frame


def _dataset(frame: "DataFrame", source: str, names: tuple[str, ...]) -> Dataset:
    encoded = [_encode(frame, name) for name in names]
    return Dataset(
        name=source,
        dense_NF=np.log1p(_numbers(frame, _DENSE, source))[:, None].astype(np.float32),
        ids_NS=np.stack([ids for ids, _ in encoded], axis=1),
        labels_N=_numbers(frame, _LABEL, source).astype(np.float32),
        features=tuple(Feature(name=n, cardinality=c) for n, (_, c) in zip(names, encoded, strict=True)),
        dense_names=(_DENSE,),
    )


def _encode(frame: "DataFrame", name: str) -> tuple[NDArray[np.int64], int]:
    import polars as pl

    column = frame.select(name)
    vocabulary = column.drop_nulls().unique(maintain_order=True).with_row_index("id", offset=1)
    ids = column.join(vocabulary, on=name, how="left", maintain_order="left")["id"].fill_null(0)
    return ids.cast(pl.Int64).to_numpy(), len(vocabulary) + 1


def _numbers(frame: "DataFrame", name: str, source: str) -> NDArray[np.float64]:
    import polars as pl

    try:
        values = frame[name].cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{source}: {name} must hold numbers: {error}") from error
    bad = np.flatnonzero(~np.isfinite(values) | (values < 0) | ((values > 1) & (name == _LABEL)))
    if bad.size:
        wanted = "0 or 1" if name == _LABEL else "finite and >= 0"
        raise InputError(f"{source}: {name}, row {bad[0]}: must be {wanted}, but got {frame[name][int(bad[0])]}")
    return values
