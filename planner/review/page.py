"""The review as files: one HTML page that opens offline, the frames behind it, every chart as Vega-Lite, and JSON."""

import json
from datetime import date
from pathlib import Path

from planner.report.frames import frame_of, rows_by_name, write_charts, write_frames
from planner.report.page import PageHead, render_sections
from planner.review.comparison import ReviewDiff
from planner.review.pricing import ModelReview
from planner.review.sections import review_answer, review_sections
from profiles.files import make_folder, replace_file

__all__ = ["SCHEMA", "write_review"]

SCHEMA = "recplan.review/1"
PAGE = "review.html"


def write_review(review: ModelReview, folder: Path, diff: ReviewDiff | None = None, processor: str = "") -> Path:
    """Write `review.html`, `review.json`, `frames/` (CSV, Parquet, JSON) and `charts/`; returns the page's path.

    Raises:
        StorageError: a file cannot be written.
    """
    sections = review_sections(review, diff)
    head = PageHead(
        name=review.name,
        eyebrow="recplan review",
        facts=(f"{review.batch:,} samples a pass", processor),
        created=date.today().isoformat(),  # noqa: DTZ011 (the reader's date)
    )
    page = render_sections(head, review_answer(review, diff), sections)
    body = {"schema": SCHEMA, **review.to_object(), **({"against": diff.to_object()} if diff else {})}
    replace_file(make_folder(folder) / "review.json", json.dumps(body, indent=1, ensure_ascii=False) + "\n")
    write_frames(sections, folder / "frames")
    for name, rows in rows_by_name(sections).items():
        replace_file(folder / "frames" / f"{name}.csv", frame_of(rows).write_csv())
    write_charts(sections, folder / "charts")
    return replace_file(folder / PAGE, page)
