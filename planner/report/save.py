"""Make the report: the page, the frames and charts beside it, and the inputs to make it again."""

from pathlib import Path

from planner.report.frames import write_charts, write_frames
from planner.report.inputs import ReportInputs
from planner.report.page import render_page
from planner.report.sections import answer_of, sections_of
from planner.report.stored import load_inputs, save_inputs
from profiles.files import make_folder, replace_file

__all__ = ["build_report", "rebuild_report"]

PAGE = "report.html"


def build_report(inputs: ReportInputs, out: Path) -> Path:
    """Write `report.html`, `report.json`, `frames/` and `charts/` into `out`; returns the page's path.

    Each file is replaced atomically, the page last: a page that is there has its frames beside it.

    Raises:
        StorageError: the disk is full or the folder is not writable.
        InputError: the inputs contradict each other, e.g. a simulation of a path that the plan does not hold.
    """
    sections = sections_of(inputs)
    page = render_page(inputs, answer_of(inputs), sections)
    save_inputs(inputs, make_folder(out))
    write_frames(sections, out / "frames")
    write_charts(sections, out / "charts")
    return replace_file(out / PAGE, page)


def rebuild_report(folder: Path) -> Path:
    """Make the page in the folder again from its `report.json`."""
    return build_report(load_inputs(folder), folder)
