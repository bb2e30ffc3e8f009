"""`recplan report` and `recplan hardware`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import Json
from planner.cli.output import print_json, print_lines, print_table
from profiles.units import format_bytes, format_count

if TYPE_CHECKING:
    from profiles.hardware import Hardware

__all__ = ["hardware", "register", "report"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(report)
    app.command()(hardware)


def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `recplan plan` filled.")]) -> None:
    """Rebuild the report of a folder from what lies in it."""
    from planner.report import rebuild_report

    print_lines([f"report: {rebuild_report(folder)}"])


def hardware(json: Json = False) -> None:
    """Show the catalogue, and what this machine is."""
    from profiles.hardware import catalogue

    entries = catalogue()
    if json:
        print_json({"devices": [_hardware_object(entry) for entry in entries.values()]})
        return
    rows = [
        (
            entry.name,
            entry.title,
            format_bytes(entry.memory_bytes),
            f"{format_bytes(entry.bandwidth_bytes_per_s)}/s" if entry.bandwidth_bytes_per_s else "to be measured",
            f"{entry.tdp_w:g} W" if entry.tdp_w else "",
            "  ".join(f"{dtype} {format_count(peak)}" for dtype, peak in entry.peak_flops_per_s.items()),
        )
        for entry in entries.values()
    ]
    columns = ("kind", "device", "memory", "bandwidth", "TDP", "dense peaks, FLOP/s")
    print_table("Devices", columns, rows, text_columns=2)


def _hardware_object(entry: "Hardware") -> dict[str, object]:
    return {**asdict(entry), "peak_flops_per_s": dict(entry.peak_flops_per_s)}
