"""The application and its exit codes: 0 done, 2 bad input, 1 failure, 130 interrupted.

Commands import what they need when they run, so that `recplan simulate` starts without torch.
"""

import errno
import gc
import os
import sys
import warnings
from typing import Annotated, Any, TextIO

import typer
from typer.exceptions import TyperException

from planner.cli import (
    comparing,
    hardware,
    planning,
    profiling,
    replaying,
    reviewing,
    searching,
    serving,
    sharding,
    whatif,
)
from planner.cli.output import message as tell
from planner.cli.output import print_lines
from profiles.errors import InputError, RecplanError

__all__ = ["app", "main", "run"]

DONE, FAILURE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_lines([f"recplan {version('recplan')}"])
        raise typer.Exit


app = typer.Typer(
    name="recplan",
    help="Plan recommendation models from measurements of their building blocks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Plan recommendation models from measurements of their building blocks."""
    del show_version


for module in (planning, searching, profiling, comparing, serving, replaying, reviewing, hardware, whatif, sharding):
    module.register(app)


def main() -> None:
    """Entry point: runs the command and turns errors into one message and an exit code."""
    warnings.showwarning = _show_warning
    code = run()
    # Taking apart what is left would take numba's objects as long as it takes to simulate millions of queries.
    gc.freeze()
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """The exit code of a command line."""
    try:
        result: Any = app(arguments, standalone_mode=False)
    except BrokenPipeError:
        # The reader has seen enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (RecplanError, TyperException, OSError) as error:
        # Typer has shown the help where no command was named, and has nothing to add.
        if description := _describe(error):
            tell(f"error: {description}")
        return _failure(error)
    # Typer hands back an exit's code here (that of an interrupt, too), and None for a command that came to its end.
    if result == INTERRUPTED:
        tell("interrupted; what is on the disk is kept, and commands that resume go on from there")
    return result if isinstance(result, int) else DONE


def _failure(error: Exception) -> int:
    if isinstance(error, TyperException):
        return error.exit_code
    return BAD_INPUT if isinstance(error, InputError) else FAILURE


def _describe(error: Exception) -> str:
    if isinstance(error, TyperException):
        return error.format_message()
    if not isinstance(error, OSError):
        return str(error)
    place = f"{error.filename}: " if error.filename else ""
    hint = "; what was finished is kept" if error.errno == errno.ENOSPC else ""
    return f"{place}{error.strerror or error}{hint}"


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del filename, lineno, file, line
    if issubclass(category, UserWarning | RuntimeWarning):
        tell(f"warning: {message}")
