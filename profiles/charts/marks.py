"""Signs and words for where a row's figures come from, the same in every table, tree and chart."""

import re
from collections.abc import Mapping

from profiles.model_profile import LEFT_OUT
from profiles.records import ComponentProfile

__all__ = ["LEFT_OUT_MARK", "row_mark", "row_reason"]

LEFT_OUT_MARK = "○"
_MARKS: Mapping[str, str] = {"aggregated": "Σ", "estimated": "≈", "skipped": "×"}
_OWN_SHARE = re.compile(r"takes [0-9.]+% of the model's time, less than ([0-9.]+%)")


def row_mark(row: ComponentProfile) -> str:
    """Empty for a measured row; `○` for one that a filter left out, which is no failure."""
    if row.provenance != "measured" and row.reason.startswith(LEFT_OUT):
        return LEFT_OUT_MARK
    return _MARKS.get(row.provenance, "")


def row_reason(row: ComponentProfile) -> str:
    """The row's reason without its own share, so that rows left out as too small have one reason together."""
    return _OWN_SHARE.sub(r"takes less than \1 of the model's time", row.reason)
