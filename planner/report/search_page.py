"""A search as a page of its own, with the frames and charts behind it."""

from datetime import date
from pathlib import Path

from planner.report.answer import Answer
from planner.report.blocks import Row, Rows, Tile
from planner.report.cells import format_number
from planner.report.frames import write_charts, write_frames
from planner.report.inputs import SearchInputs
from planner.report.page import PageHead, render_sections
from planner.report.pareto import objective_title, pareto_rows, search_section, shown_objective
from planner.report.validation_page import grades_section
from planner.study import OBJECTIVES
from profiles.files import make_folder, replace_file

__all__ = ["build_search_page", "search_answer"]

PAGE = "search.html"


def build_search_page(search: SearchInputs, name: str, folder: Path, facts: tuple[str, ...] = ()) -> Path:
    """Write `search.html`, `frames/` and `charts/` into the folder; returns the page's path.

    Raises:
        StorageError: a file cannot be written.
    """
    sections = (search_section(search, fold=False), grades_section())
    head = PageHead(
        name=name,
        eyebrow="recplan search",
        facts=facts,
        created=date.today().isoformat(),  # noqa: DTZ011 (the reader's date)
    )
    page = render_sections(head, search_answer(search), sections)
    write_frames(sections, make_folder(folder) / "frames")
    write_charts(sections, folder / "charts")
    return replace_file(folder / PAGE, page)


def search_answer(search: SearchInputs) -> Answer:
    """How many candidates nothing beats, and the best by each objective."""
    members = pareto_rows(search)
    names = ", ".join(objective_title(name) for name in search.objectives)
    headline = (
        f"{len(members)} candidates that no other beats in {names} together."
        if len(members) != 1
        else f"One candidate beats all others in {names}."
    )
    sentences = (f"{search.screened}.",) if search.screened else ()
    return Answer(headline=headline, sentences=sentences, tiles=_tiles(search, members))


def _tiles(search: SearchInputs, members: Rows) -> tuple[Tile, ...]:
    tiles = [_best(name, members) for name in search.objectives if members]
    if search.hypervolume is not None:
        tiles.append(Tile(label="Hypervolume", value=format_number(search.hypervolume), note="share that is covered"))
    return tuple(tiles)


def _best(name: str, members: Rows) -> Tile:
    def value(row: Row) -> float:
        return float(row[name])

    best = max(members, key=value) if OBJECTIVES[name] else min(members, key=value)
    return Tile(label=f"Best {objective_title(name)}", value=shown_objective(name, best[name]), note=str(best["name"]))
