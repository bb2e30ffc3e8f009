"""Profiles as a Polars frame and as a Parquet file; the only module of the store that needs Polars."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl

from profiles.errors import CorruptFileError, InputError
from profiles.files import replace_file
from profiles.records import LATENCY_FIELDS, SCHEMA, ComponentProfile, Fingerprint, Latency

__all__ = ["FRAME_SCHEMA", "profile_frame", "read_profiles", "write_frame", "write_profiles"]

_LATENCY_TYPES: Mapping[str, type[pl.DataType]] = {"n": pl.Int64, "visits": pl.Int64}
_PROFILE_TYPES: Mapping[str, type[pl.DataType]] = {
    **dict.fromkeys(("batch", "calls", "depth", "parameter_bytes", "peak_memory_bytes"), pl.Int64),
    **dict.fromkeys(("flops", "bytes_moved", "mfu", "bandwidth_share"), pl.Float64),
}
_JSON_COLUMNS = ("artefacts", "figures", "fingerprint_libraries")


def _frame_schema() -> dict[str, type[pl.DataType]]:
    schema: dict[str, type[pl.DataType]] = {"schema": pl.String}
    for part in fields(ComponentProfile):
        if part.name in LATENCY_FIELDS:
            schema |= {f"{part.name}_{f.name}": _LATENCY_TYPES.get(f.name, pl.Float64) for f in fields(Latency)}
        elif part.name == "fingerprint":
            schema |= {f"fingerprint_{f.name}": pl.String for f in fields(Fingerprint)}
        else:
            schema[part.name] = _PROFILE_TYPES.get(part.name, pl.String)
    return schema | {"fingerprint_threads": pl.Int64}


FRAME_SCHEMA: Mapping[str, type[pl.DataType]] = _frame_schema()


def profile_frame(profiles: Sequence[ComponentProfile]) -> pl.DataFrame:
    """One row per profile with the columns of `to_flat`; artefacts, figures and libraries as JSON text."""
    rows = [_to_columns(profile) for profile in profiles]
    return pl.DataFrame(rows, schema=dict(FRAME_SCHEMA), orient="row")


def write_profiles(path: Path, profiles: Sequence[ComponentProfile]) -> None:
    """Replace the file as a whole; a `StorageError` leaves the old one."""
    write_frame(path, profile_frame(profiles), SCHEMA)


def write_frame(path: Path, frame: pl.DataFrame, schema: str) -> None:
    """Replace a Parquet file as a whole, the schema in its metadata; a `StorageError` leaves the old one."""
    # Polars' own errors about a full disk are no OSError, so the bytes are written here.
    body = io.BytesIO()
    frame.write_parquet(body, metadata={"schema": schema})
    replace_file(path, body.getvalue())


def read_profiles(path: Path) -> list[ComponentProfile]:
    """The profiles that `write_profiles` wrote; a truncated or foreign file is a `CorruptFileError`."""
    try:
        schema = pl.read_parquet_metadata(path).get("schema")
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise CorruptFileError(f"{path}: not a whole Parquet file: {error}") from error
    if schema is None:
        raise CorruptFileError(
            f"{path}: its metadata has no 'schema', so recplan did not write it, or another program wrote it anew; "
            "take the folder that a sweep or a calibration left, or write such rows by `profiles.ProfileStore`"
        )
    if schema != SCHEMA:
        raise CorruptFileError(f"{path}: schema: must be {SCHEMA!r}, but got {schema!r}")
    try:
        return [_from_columns(row) for row in frame.iter_rows(named=True)]
    except (InputError, KeyError) as error:
        raise CorruptFileError(f"{path}: {error}") from error


def _to_columns(profile: ComponentProfile) -> dict[str, Any]:
    flat = profile.to_flat()
    return flat | {name: json.dumps(flat[name]) for name in _JSON_COLUMNS}


def _from_columns(row: Mapping[str, Any]) -> ComponentProfile:
    parsed = dict(row) | {name: json.loads(row[name]) for name in _JSON_COLUMNS if name in row}
    return ComponentProfile.from_flat(parsed)
