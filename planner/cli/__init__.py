"""The command line: `recplan COMMAND`. Results go to stdout, progress and messages to stderr."""

from planner.cli.app import app, main

__all__ = ["app", "main"]
