"""`recplan diff`: what changed between two profiles, or two reports."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from planner.cli.options import Json
from planner.cli.output import print_json, print_lines
from profiles.errors import InputError

__all__ = ["diff", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(diff)


def diff(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="The folder of `recplan profile --out` or `recplan plan`, or profile.json or report.json."
        ),
    ],
    after: Annotated[Path, typer.Argument(metavar="B", help="What to compare with it, of the same kind.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Of profiles, also write a page, charts and JSON there.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Modules or candidates to show of each metric.")] = 12,
    json: Json = False,
) -> None:
    """Compare two profiles, or the reports of two studies: what changed, where, and by how much."""
    kinds = _is_report(before), _is_report(after)
    if kinds[0] != kinds[1]:
        report, profile = (before, after) if kinds[0] else (after, before)
        raise InputError(f"diff: {report} is a report, and {profile} is none: give two profiles, or two reports")
    if kinds[0]:
        _diff_reports(before, after, out, top, json=json)
    else:
        _diff_profiles(before, after, out, top, json=json)


def _is_report(path: Path) -> bool:
    """By the file's name; a folder holds a report where it holds that file and no profile."""
    if not path.is_dir():
        return path.name in ("report.json", "report.html")
    return (path / "report.json").is_file() and not (path / "profile.json").is_file()


def _diff_reports(before: Path, after: Path, out: Path | None, top: int, *, json: bool) -> None:
    from planner.report import load_inputs
    from planner.report.differences import diff_reports, report_difference_lines

    if out is not None:
        raise InputError("diff: --out is for profiles; of two reports, --json has all that differs")
    old, new = (load_inputs(path if path.is_dir() else path.parent) for path in (before, after))
    names = (old.name, new.name) if old.name != new.name else (str(before), str(after))
    found = diff_reports(old, new, names)
    if json:
        print_json(found.to_object())
        return
    print_lines(report_difference_lines(found, top))


def _diff_profiles(before: Path, after: Path, out: Path | None, top: int, *, json: bool) -> None:
    from profiles.analyses.diff import diff_profiles
    from profiles.results import load_profile
    from profiles.results.difference_lines import difference_lines

    old, new = load_profile(before), load_profile(after)
    if old.name == new.name:
        old, new = replace(old, name=str(before)), replace(new, name=str(after))
    found = diff_profiles(old, new)
    files: tuple[Path, ...] = ()
    if out is not None:
        from profiles.results.difference_page import write_difference

        files = write_difference(found, out)
    if json:
        print_json({**found.to_object(), "files": [str(file) for file in files]})
        return
    print_lines(difference_lines(found, top))
    print_lines(f"wrote {file}" for file in files)
