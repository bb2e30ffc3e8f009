"""The table of a profiled model: names whole, reasons as footnotes below."""

from typing import TYPE_CHECKING

from planner.cli.output import print_lines, print_table
from profiles.units import format_bytes, format_count, format_ms

if TYPE_CHECKING:
    from profiles.model_profile import ModelProfile
    from profiles.records import ComponentProfile

__all__ = ["show_profile"]

_SHOWN_ROWS = 60
_COLUMNS = ("component", "class", "in situ", "alone", "FLOPs", "params", "note")


def show_profile(target: str, result: "ModelProfile") -> None:
    """Rows in tree order; `note` numbers say how a row's figures came about, where they were not plainly measured."""
    shown = result.rows[:_SHOWN_ROWS]
    remarks = list(dict.fromkeys(remark for row in shown if (remark := _remark(row))))
    rows = [
        (
            " " * row.depth + (row.path.rpartition(".")[2] or target),
            row.class_name,
            format_ms(row.in_situ.median_ms) if row.in_situ else "",
            format_ms(row.warm.median_ms) if row.warm else "",
            format_count(row.flops, "FLOP") if row.flops else "",
            format_bytes(row.parameter_bytes) if row.parameter_bytes else "",
            f"[{remarks.index(remark) + 1}]" if (remark := _remark(row)) else "",
        )
        for row in shown
    ]
    print_table(target, _COLUMNS, rows, text_columns=2, folding={1})
    if len(result.rows) > _SHOWN_ROWS:
        print_lines([f"... and {len(result.rows) - _SHOWN_ROWS} more rows (--out writes all)"])
    print_lines(f"[{number}] {remark}" for number, remark in enumerate(remarks, start=1))
    print_lines(["medians; in situ: within the model's forward pass; alone: by itself on the same inputs"])


def _remark(row: "ComponentProfile") -> str:
    if row.provenance == "measured":
        return row.reason
    return row.provenance + (f": {row.reason}" if row.reason else "")
