"""`recplan diff`: what changed between two profiles."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from planner.cli.options import Json
from planner.cli.output import print_json, print_lines

__all__ = ["diff", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(diff)


def diff(
    before: Annotated[
        Path, typer.Argument(metavar="A", help="A profile: the folder of `recplan profile --out`, or profile.json.")
    ],
    after: Annotated[Path, typer.Argument(metavar="B", help="The profile to compare with it.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Also write a page, charts and JSON there.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Modules to show of each metric.")] = 12,
    json: Json = False,
) -> None:
    """Compare two profiles: which modules changed, and what each adds to the difference."""
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
