"""A profile's rows as tables: CSV with the standard library alone, Parquet with Polars."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from profiles.files import make_folder, replace_file
from profiles.model_profile import ModelProfile
from profiles.records import ComponentProfile

__all__ = ["CsvWriter", "ParquetWriter"]


class CsvWriter:
    """Writes `profile.csv`: one line per row, every figure of a further profiler a column of its own."""

    name = "csv"

    def write(self, profile: ModelProfile, folder: Path) -> Path:
        """Write and return the file.

        Raises:
            StorageError: the disk is full or the folder is not writable; a file that was there stays.
        """
        lines = [_flat(row) for row in profile.rows]
        columns = dict.fromkeys(column for line in lines for column in line)
        body = io.StringIO(newline="")
        table = csv.DictWriter(body, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(lines)
        return replace_file(make_folder(folder) / "profile.csv", body.getvalue())


class ParquetWriter:
    """Writes `profile.parquet`, with the columns of the profile store."""

    name = "parquet"

    def write(self, profile: ModelProfile, folder: Path) -> Path:
        """Write and return the file.

        Raises:
            StorageError: the disk is full or the folder is not writable; a file that was there stays.
        """
        from profiles.parquet import write_profiles

        path = make_folder(folder) / "profile.parquet"
        write_profiles(path, profile.rows)
        return path


def _flat(row: ComponentProfile) -> dict[str, Any]:
    flat = row.to_flat()
    figures = flat.pop("figures")
    texts = {name: json.dumps(flat[name]) for name in ("artefacts", "fingerprint_libraries")}
    return {**flat, **texts, **{f"figure_{name}": value for name, value in figures.items()}}
