"""Rows of modules that run alone on larger calls than the model makes in the pass that was captured."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from profiles.records import ComponentProfile
from profiles.walk.module_part import ModulePart

__all__ = ["with_larger_calls"]

_NOT_KNOWN = "its FLOPs at the larger batch are not known"


def with_larger_calls(part: ModulePart, figures: Mapping[str, Any]) -> ModulePart:
    """The part without the work of the captured pass: what `figures` hold of the larger calls, or nothing.

    So that no row, and no sum over rows, mixes the work of two batch sizes.
    """
    row = part.row
    if row.phase == "forward":
        shown = {name: value for name, value in row.figures.items() if name != "touched_rows" or name in figures}
        row = replace(row, flops=figures.get("flops"), bytes_moved=figures.get("bytes_moved"), figures=shown)
    return replace(part, row=row, own=part.own and _without_work(part.own))


def _without_work(own: ComponentProfile) -> ComponentProfile:
    return replace(own, flops=None, mfu=None, reason=f"{own.reason}; {_NOT_KNOWN}")
