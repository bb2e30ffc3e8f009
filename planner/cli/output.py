"""What commands print: messages on stderr, results on stdout as text, table or one JSON object."""

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

__all__ = ["message", "print_json", "print_lines", "print_table"]

_NARROWEST = 5
# A blank on either side of each column.
_BETWEEN = 2


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
    console = Console()
    widths = _fitting_widths(_whole_widths(columns, lines), least, console.width)
    for index, column in enumerate(columns):
        table.add_column(
            escape(column),
            justify="left" if index < text_columns else "right",
            overflow="fold",
            no_wrap=index not in least,
            width=widths[index],
        )
    for line in lines:
        table.add_row(*(escape(cell) for cell in line))
    console.width = max(console.width, sum(widths) + _BETWEEN * len(widths))
    # A title may be longer than its table is wide: it stays in one line, so that its paths can be copied.
    console.print(Text(title, style="bold"), soft_wrap=True)
    console.print(table)


def _whole_widths(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column is with nothing folded."""
    from rich.cells import cell_len

    return [
        max(map(cell_len, (*column.split("\n"), *(line[index] for line in lines))))
        for index, column in enumerate(columns)
    ]


def _fitting_widths(whole: Sequence[int], least: Mapping[int, int], room: int) -> list[int]:
    """The widths once those that may have given way, the widest first, until the table fits or none can any more."""
    widths = list(whole)
    for _ in range(sum(whole) + _BETWEEN * len(whole) - room):
        giving = [index for index, width in enumerate(widths) if width > least.get(index, width)]
        if giving:
            widths[max(giving, key=widths.__getitem__)] -= 1
    return widths
