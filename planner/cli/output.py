"""What commands print: messages on stderr, results on stdout as text, table or one JSON object."""

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

__all__ = ["message", "print_json", "print_lines", "print_table"]

# Wider than any table, so that its own width is measured, not the terminal's.
_WIDEST = 10_000
_NARROWEST = 5


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


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text_columns: int = 1,
    folding: Collection[int] | Mapping[int, int] | None = None,
) -> None:
    """A table on stdout; the first `text_columns` read from the left, numbers behind them align on the right.

    `folding`: the columns that give way where the terminal is narrow (all but the first by default), with the least
    width of each if it is a mapping; the others stay whole, even if lines then are longer than the terminal is wide.
    A heading may have several lines.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="dim", box=None)
    lines = [tuple(row) for row in rows]
    folds = range(1, len(columns)) if folding is None else folding
    least = folds if isinstance(folds, Mapping) else dict.fromkeys(folds, _NARROWEST)
    for index, column in enumerate(columns):
        width = max(len(cell) for cell in (*column.split("\n"), *(line[index] for line in lines)))
        table.add_column(
            escape(column),
            justify="left" if index < text_columns else "right",
            overflow="fold",
            no_wrap=index not in least,
            min_width=min(width, least.get(index, width)),
        )
    for line in lines:
        table.add_row(*(escape(cell) for cell in line))
    console = Console()
    unbounded = console.options.update(max_width=_WIDEST)
    console.width = max(console.width, console.measure(table, options=unbounded).minimum)
    # A title may be longer than its table is wide: it stays in one line, so that its paths can be copied.
    console.print(Text(title, style="bold"), soft_wrap=True)
    console.print(table)
