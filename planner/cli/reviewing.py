"""`recplan report`."""

from pathlib import Path
from typing import Annotated

import typer

from planner.cli.output import print_lines

__all__ = ["register", "report"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)


def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `recplan plan` filled.")]) -> None:
    """Rebuild the report of a folder from what lies in it."""
    from planner.report import rebuild_report

    print_lines([f"report: {rebuild_report(folder)}"])
