"""The validation of a cost model as a page of its own, with the frames and charts behind it."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from planner.report.answer import Answer
from planner.report.blocks import Column, Section, Table, Tile
from planner.report.cells import format_percent
from planner.report.frames import write_charts, write_frames
from planner.report.inputs import ValidationInputs
from planner.report.page import PageHead, render_sections
from planner.report.provenance import MEANING
from planner.report.validation import validation_section
from profiles.files import make_folder, replace_file

__all__ = ["build_validation_page", "grades_section", "validation_answer"]

PAGE = "validation.html"
_GRADES = (Column(key="grade", title="Figure is", kind="provenance"), Column(key="meaning", title="Meaning"))


def build_validation_page(validation: ValidationInputs, name: str, folder: Path, facts: tuple[str, ...] = ()) -> Path:
    """Write `validation.html`, `frames/` and `charts/` into the folder; returns the page's path.

    Raises:
        StorageError: a file cannot be written.
    """
    sections = (validation_section(validation, fold=False), grades_section())
    head = PageHead(
        name=name,
        eyebrow="recplan validation",
        facts=facts,
        created=date.today().isoformat(),  # noqa: DTZ011 (the reader's date)
    )
    page = render_sections(head, validation_answer(validation.summary), sections)
    write_frames(sections, make_folder(folder) / "frames")
    write_charts(sections, folder / "charts")
    return replace_file(folder / PAGE, page)


def validation_answer(summary: Mapping[str, Any]) -> Answer:
    """How far the cost model can be trusted, in a sentence and a few figures."""
    floor = summary.get("noise_floor") or {}
    composed = summary.get("composed") or {}
    kinds = sorted(summary.get("components", ()), key=lambda row: -row["mape"])
    repeats = f"a measurement repeats itself to {format_percent(floor['median'])} (median)" if floor else ""
    if composed.get("mape") is not None:
        headline = f"Unseen models are predicted with a mean error of {format_percent(composed['mape'])}"
    elif kinds:
        headline = f"Unseen components are predicted with a mean error of {format_percent(kinds[0]['mape'])} at worst"
    else:
        headline = "Nothing could be held out"
    sentences = []
    if kinds:
        text = ", ".join(f"{row['kind']} {format_percent(row['mape'])}" for row in kinds)
        sentences.append(f"Mean error of components by kind: {text}.")
    sentences += [_in_situ_sentence(row) for row in summary.get("in_situ", ())]
    return Answer(
        headline=f"{headline}{f'; {repeats}' if repeats else ''}.", sentences=tuple(sentences), tiles=_tiles(summary)
    )


def _in_situ_sentence(row: Mapping[str, Any]) -> str:
    total, parts, cancelled = (format_percent(row[name]) for name in ("error", "gross_error", "cancelled"))
    return (
        f"Inside {row['model']} at {row['batch']:,} samples, the total is off by {total}; its parts are by {parts} of "
        f"the latency in all, of which {cancelled} cancels in the total."
    )


def _tiles(summary: Mapping[str, Any]) -> tuple[Tile, ...]:
    composed, floor = summary.get("composed") or {}, summary.get("noise_floor") or {}
    values = (
        ("Whole models", composed.get("mape"), "mean error, components held out"),
        ("Nine in ten below", composed.get("p90"), "whole models"),
        ("Noise floor", floor.get("median"), "median difference of two measurements"),
        ("Intervals hold", summary.get("interval_coverage_90"), "of components, 90 % wanted"),
        ("Beyond the range", (summary.get("extrapolation") or {}).get("mape"), "mean error over a quarter of the work"),
        ("Skewed ids", summary.get("skewed_ids_mape"), "mean error on a skew never seen"),
    )
    return tuple(
        Tile(label=label, value=format_percent(value), note=note) for label, value, note in values if value is not None
    )


def grades_section() -> Section:
    """What the grades of figures mean."""
    rows = tuple({"grade": name, "meaning": text} for name, text in MEANING.items())
    table = Table(name="grades", caption="Grades", columns=_GRADES, rows=rows)
    return Section(anchor="provenance", title="Where the figures come from", short="Provenance", tables=(table,))
