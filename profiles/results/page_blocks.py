"""What a page is made of, before it is HTML."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Cell", "Chart", "Column", "Group", "Line", "Link", "Table", "Tile"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A file beside the page, or a place in it."""

    title: str
    href: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """`note` says on hovering what the figures are; the texts of a wide column wrap."""

    title: str
    note: str = ""
    is_number: bool = True
    is_wide: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A text; numbers sort by `value`, where None comes last."""

    text: str = ""
    value: float | None = None
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A row; `searched` is what a search looks into, `kind` its look, `hover` what hovering says."""

    cells: tuple[Cell, ...]
    searched: str
    kind: str = ""
    hover: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Rows that stay together when sorted."""

    heading: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table of the page; `note` stands below it, then the remarks that its cells refer to."""

    name: str
    title: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    note: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(len(group.lines) for group in self.groups)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tile:
    """One figure of the summary."""

    label: str
    figure: str
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A Vega-Lite spec; `summary` is read aloud instead of it, `note` stands below it."""

    name: str
    title: str
    summary: str
    spec: Mapping[str, Any]
    note: str = ""
