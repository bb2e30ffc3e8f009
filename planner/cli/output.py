"""What commands print: messages on stderr, results on stdout as text, table or one JSON object."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["message", "print_json", "print_lines", "print_table"]


def message(text: str) -> None:
    """One message on stderr."""
    print(text, file=sys.stderr, flush=True)


def print_json(body: Mapping[str, Any]) -> None:
    """One JSON object on one line of stdout; not-a-number has no place in it."""
    print(json.dumps(body, allow_nan=False), flush=True)


def print_lines(lines: Iterable[str]) -> None:
    """Lines on stdout."""
    for line in lines:
        print(line)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> None:
    """A table on stdout; the first `text_columns` read from the left, numbers behind them align on the right."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="dim", box=None)
    for index, column in enumerate(columns):
        table.add_column(escape(column), justify="left" if index < text_columns else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    Console().print(table)
