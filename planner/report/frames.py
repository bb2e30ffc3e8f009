"""The rows behind the page, as Parquet and JSON, and the charts' Vega-Lite."""

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from planner.report.blocks import Chart, Rows, Section, Table
from profiles.files import make_folder, replace_file

__all__ = ["frame_of", "rows_by_name", "write_charts", "write_frames"]


def rows_by_name(sections: Iterable[Section]) -> Mapping[str, Rows]:
    """The rows of every table and chart; charts and tables have names of their own."""
    blocks: list[Table | Chart] = []
    for section in sections:
        blocks += [*section.all_charts, *section.tables]
    return {block.name: block.rows for block in blocks}


def frame_of(rows: Rows) -> pl.DataFrame:
    """The rows as a frame; a column is wide enough for all of its values, and text where it has none."""
    frame = pl.DataFrame([dict(row) for row in rows], infer_schema_length=None)
    return frame.with_columns(pl.col(name).cast(pl.String) for name, kind in frame.schema.items() if kind == pl.Null)


def write_frames(sections: Iterable[Section], folder: Path) -> None:
    """`NAME.parquet` and `NAME.json` for every table and chart.

    Raises:
        StorageError: one of them cannot be written.
    """
    make_folder(folder)
    for name, rows in rows_by_name(sections).items():
        buffer = io.BytesIO()
        frame_of(rows).write_parquet(buffer)
        replace_file(folder / f"{name}.parquet", buffer.getvalue())
        text = json.dumps([dict(row) for row in rows], indent=1, ensure_ascii=False, default=str)
        replace_file(folder / f"{name}.json", text + "\n")


def write_charts(sections: Iterable[Section], folder: Path) -> None:
    """`NAME.vl.json` for every chart.

    Raises:
        StorageError: one of them cannot be written.
    """
    make_folder(folder)
    for section in sections:
        for chart in section.all_charts:
            text = json.dumps(chart.spec, indent=1, ensure_ascii=False)
            replace_file(folder / f"{chart.name}.vl.json", text + "\n")
