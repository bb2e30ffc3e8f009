"""The application and its exit codes: 0 done, 2 bad input, 1 failure, 130 interrupted.

Commands import what they need when they run, so that `recplan simulate` starts without torch.
"""

import errno
import sys
import warnings
from typing import Any

import typer

from planner.cli import planning, reviewing, serving
from planner.cli.output import message
from profiles.errors import InputError, RecplanError

__all__ = ["app", "main"]

app = typer.Typer(
    name="recplan",
    help="Plan recommendation models from measurements of their building blocks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (planning, serving, reviewing):
    module.register(app)


def main() -> None:
    """Entry point: runs the command and turns errors into one message and an exit code."""
    warnings.showwarning = _show_warning
    sys.exit(run())


def run(arguments: list[str] | None = None) -> int:
    """The exit code of a command line."""
    try:
        app(arguments, standalone_mode=False)
    except (typer.Exit, SystemExit) as stop:
        return _code(stop)
    except (KeyboardInterrupt, typer.Abort):
        message("interrupted; what was finished is kept, the same command goes on from there")
        return 130
    except BrokenPipeError:
        return 0
    except InputError as error:
        message(f"error: {error}")
        return 2
    except RecplanError as error:
        message(f"error: {error}")
        return 1
    except OSError as error:
        return _operating_system_error(error)
    except Exception as error:
        if _is_usage_error(error):
            show: Any = getattr(error, "show", None)
            if show:
                show()
            return 2
        raise
    return 0


def _code(stop: BaseException) -> int:
    code = getattr(stop, "exit_code", getattr(stop, "code", 0))
    return code if isinstance(code, int) else 1


def _operating_system_error(error: OSError) -> int:
    place = f"{error.filename}: " if error.filename else ""
    hint = "; what was finished is kept" if error.errno == errno.ENOSPC else ""
    message(f"error: {place}{error.strerror or error}{hint}")
    return 1


def _is_usage_error(error: Exception) -> bool:
    # typer brings its own copy of click or uses the installed one: tell by the protocol, not by the class.
    return hasattr(error, "exit_code") and hasattr(error, "format_message")


def _show_warning(text: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UserWarning | RuntimeWarning):
        message(f"warning: {text}")
