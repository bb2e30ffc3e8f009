"""Siblings that are alike, shown once: the slowest embedding in full, the rest of its kind summed up in one row."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from planner.report.blocks import Row, Rows
from planner.report.provenance import weakest

__all__ = ["collapsed_rows", "levels_that_fit"]

_CONTAINER = "embeddings"
# Two are sooner read than a summary of one.
_LEAST_ALIKE = 3
_NAMED = 6
_SUMMED = ("in_situ_ms", "share", "flops", "bytes_moved", "parameter_bytes")

# A child with everything below it, in tree order.
Branch = tuple[Row, ...]


def collapsed_rows(rows: Rows) -> Rows:
    """The rows, in tree order, with like embeddings summed up; `component` is the path of each, "" for the model.

    Embeddings are alike where their class and the classes of everything below them are.
    """
    shown: list[Row] = []
    at = 0
    while at < len(rows):
        shown.append(rows[at])
        at += 1
        if rows[at - 1]["component"].rpartition(".")[2] == _CONTAINER:
            end = next((i for i in range(at, len(rows)) if rows[i]["depth"] < rows[at]["depth"]), len(rows))
            shown += _collapsed(_branches(rows[at:end]))
            at = end
    return tuple(shown)


def levels_that_fit(rows: Rows, most: int) -> Rows:
    """The rows down to the deepest level at which at most `most` are left: whole levels, never fewer than two."""
    deepest = max((row["depth"] for row in rows), default=0)
    while deepest > 1 and sum(row["depth"] <= deepest for row in rows) > most:
        deepest -= 1
    return tuple(row for row in rows if row["depth"] <= deepest)


def _branches(rows: Sequence[Row]) -> list[Branch]:
    starts = [i for i, row in enumerate(rows) if row["depth"] == rows[0]["depth"]]
    return [tuple(rows[start:end]) for start, end in pairwise((*starts, len(rows)))]


def _collapsed(branches: Iterable[Branch]) -> list[Row]:
    kinds: dict[tuple[Any, ...], list[Branch]] = {}
    for branch in branches:
        kinds.setdefault(tuple((row["class_name"], row["depth"]) for row in branch), []).append(branch)
    shown: list[Row] = []
    for alike in kinds.values():
        if len(alike) < _LEAST_ALIKE:
            shown += [row for branch in alike for row in branch]
            continue
        slowest = max(alike, key=lambda branch: branch[0]["in_situ_ms"] or 0.0)
        shown += [*slowest, _summary([branch[0] for branch in alike if branch is not slowest])]
    return shown


def _summary(heads: Sequence[Row]) -> Row:
    names = [head["label"].removeprefix("Σ ") for head in heads]
    named = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    grades = [head["provenance"] for head in heads if head["provenance"] != "skipped"]
    return {
        **dict.fromkeys(heads[0]),
        "label": f"Σ {named}: {len(heads)} like it",
        "class_name": heads[0]["class_name"],
        "depth": heads[0]["depth"],
        **{key: _total(heads, key) for key in _SUMMED},
        "provenance": weakest(grades) if grades else "skipped",
    }


def _total(heads: Sequence[Row], key: str) -> float | None:
    known = [head[key] for head in heads if head[key] is not None]
    return sum(known) if known else None
