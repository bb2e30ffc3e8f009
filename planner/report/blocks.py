"""What a section says, before anything is drawn: prose, charts and tables as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from planner.report.provenance import Provenance

__all__ = ["CellKind", "Chart", "Column", "Row", "Rows", "Section", "Table", "Tile"]

Row = Mapping[str, Any]
Rows = tuple[Row, ...]
CellKind = Literal[
    "text",
    "number",
    "integer",
    "ms",
    "joules",
    "bytes",
    "flops",
    "percent",
    "range",
    "words",
    "accuracy",
    "auc",
    "money",
    "rate",
    "bar",
    "provenance",
    "tick",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column: `key` in each row, its heading, and how values read (`kind`).

    `graded` says that the row's `provenance` is about these figures, so that estimated ones look it.
    """

    key: str
    title: str
    kind: CellKind = "text"
    note: str = ""
    graded: bool = False

    @property
    def numeric(self) -> bool:
        """Whether values stand right-aligned."""
        return self.kind not in {"text", "provenance", "tick"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows under columns; columns that no row fills are left out.

    `highlight` names a key whose truth lifts a row out. `most` rows are shown, those of `shown` where it is given; the
    frame holds `rows`, every one. `note` stands below.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: Rows
    highlight: str = ""
    shown: Rows | None = None
    most: int = 40
    note: str = ""
    half: bool = False

    @property
    def shown_rows(self) -> Rows:
        """The rows on the page."""
        return (self.rows if self.shown is None else self.shown)[: self.most]

    @property
    def left_out(self) -> int:
        """How many of the frame's rows are not on the page as they are."""
        shown = {id(row) for row in self.shown_rows}
        return sum(id(row) not in shown for row in self.rows)

    @property
    def filled_columns(self) -> tuple[Column, ...]:
        """The columns that some row fills."""
        return tuple(
            column for column in self.columns if any(row.get(column.key) not in (None, "") for row in self.rows)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A Vega-Lite spec with the rows behind it; `summary` says in words what it shows, `note` how to read it."""

    name: str
    title: str
    summary: str
    spec: Mapping[str, Any]
    rows: Rows
    note: str = ""
    half: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One part of the page; `short` is its name in the contents, `missing` says why there is nothing to show.

    `folded` charts open by a click on `folded_title`.
    """

    anchor: str
    title: str
    short: str
    prose: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""
    folded: tuple[Chart, ...] = ()
    folded_title: str = "More charts"

    @property
    def all_charts(self) -> tuple[Chart, ...]:
        """Those that are seen at once, then those that are folded."""
        return (*self.charts, *self.folded)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tile:
    """A key figure."""

    label: str
    value: str
    note: str = ""
    provenance: Provenance | None = None
