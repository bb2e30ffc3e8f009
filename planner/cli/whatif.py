"""`recplan whatif`: what a plan would come to under other loads, SLAs, devices, caches and prices."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.intervals import with_range_of_late, with_range_of_percentile
from planner.cli.loading import load_numba
from planner.cli.naming import naming_options
from planner.cli.options import Edits, Json, PlanFile, Qps, Ray, Seed, SlaMs
from planner.cli.out_folder import try_out
from planner.cli.output import message, print_json, print_lines, print_table
from profiles.errors import InputError
from profiles.units import format_items

if TYPE_CHECKING:
    from serving_sim.grid import GridCell
    from serving_sim.whatif import Axis, WhatIf

__all__ = ["register", "whatif"]

_SHOWN = 20
_LONGEST_VERDICT = len("near-saturation")
# Of a name, which may be folded anywhere.
_LONGEST_WORD = 16
_VARIED = re.compile(r"vary(?: ([^=:]+))?[=:]")
_HELD = {True: "held", False: "missed", None: "too few queries"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(whatif)


def whatif(
    plan: PlanFile,
    grid: Annotated[
        Path | None, typer.Argument(metavar="[GRID]", help="What varies, as a TOML file with a table \\[vary].")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=V1,V2,...",
            help="What varies: qps, sla_ms, add (a device's name), fail, cache (a factor), or any key of the plan. "
            "Repeatable.",
        ),
    ] = None,
    queries: Annotated[int | None, typer.Option("--queries", help="How many queries, instead of the plan's.")] = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Instead of the plan's.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder of table and chart.")] = None,
    qps: Qps = None,
    sla_ms: SlaMs = None,
    seed: Seed = None,
    edits: Edits = None,
    ray: Ray = None,
    intervals: Annotated[
        bool,
        typer.Option("--intervals", help="With 95 % intervals, by the queries drawn and by the tables' error bars."),
    ] = False,
    json: Json = False,
) -> None:
    """Simulate every combination of loads, SLAs, devices, caches or prices beside the plan as it is."""
    load_numba()
    from serving_sim.engine import resolve_plan
    from serving_sim.plan import edited_options, load_plan
    from serving_sim.policies import named_policies
    from serving_sim.whatif import axes_from_file, axis_from_text, explore

    in_file = axes_from_file(grid) if grid else ()
    with _naming_axes(grid, {axis.key for axis in in_file}):
        axes = (*in_file, *(axis_from_text(text) for text in vary or ()))
    if not axes:
        raise typer.BadParameter("name what varies: a GRID file or --vary KEY=V1,V2,...")
    loaded = load_plan(plan, edits or ())
    with naming_options({"queries": queries, "qps": qps, "sla_ms": sla_ms, "policy": policy}):
        router = None if policy is None else named_policies([policy], loaded.policy, edited_options(edits or ()))[0]
        resolved = resolve_plan(loaded, queries=queries, qps=qps, sla_ms=sla_ms, seed=seed)
    if out is not None:
        try_out(out)
    with _naming_axes(grid, {axis.key for axis in in_file}):
        base, found = explore(resolved, axes, policy=router, ray=ray, intervals=intervals)
    if out is not None:
        _save(axes, base, found, out)
    if json:
        print_json(_object(axes, base, found))
    else:
        _show(axes, base, found)


@contextmanager
def _naming_axes(grid: Path | None, keys_in_file: Collection[str]) -> Iterator[None]:
    """A complaint about what varies begins with where it was given: `--vary KEY=VALUE: ...`, or the file."""
    try:
        yield
    except InputError as error:
        if (varied := _VARIED.match(str(error))) is None:
            raise
        raise InputError(f"{grid}: {error}" if varied[1] in keys_in_file else f"--{error}") from error


def _save(axes: "Sequence[Axis]", base: "GridCell", found: "Sequence[WhatIf]", out: Path) -> None:
    from serving_sim.charts_whatif import save_whatif_page
    from serving_sim.whatif import whatif_frame

    frame = whatif_frame(axes, base, found)
    frame.write_csv(out / "whatif.csv")
    frame.write_parquet(out / "whatif.parquet")
    save_whatif_page(frame, [axis.key for axis in axes], out / "whatif.html")
    message(f"wrote whatif.csv, whatif.parquet and whatif.html to {out}")


def _object(axes: "Sequence[Axis]", base: "GridCell", found: "Sequence[WhatIf]") -> dict[str, object]:
    keys = [axis.key for axis in axes]
    return {
        "vary": {axis.key: list(axis.values) for axis in axes},
        "as_it_is": base.to_object(),
        "cells": [{"values": dict(zip(keys, one.values, strict=True)), **one.cell.to_object()} for one in found],
    }


def _show(axes: "Sequence[Axis]", base: "GridCell", found: "Sequence[WhatIf]") -> None:
    """The best first: those that hold their SLA, by correct predictions in it."""
    keys = [axis.key for axis in axes]
    ordered = sorted(found, key=lambda one: (not one.cell.holds_sla, -one.cell.correct_predictions_in_sla_per_s))
    rows = [("plan", *(("",) * (len(keys) - 1)), *_figures(base, base))]
    rows += [(*(_shown(value) for value in one.values), *_figures(one.cell, base)) for one in ordered[:_SHOWN]]
    headings = [key.replace(".", ".\n") for key in keys]
    columns: tuple[str, ...] = (*headings, "SLA, verdict", "p99", "late", "right in\nSLA/s", "change", "$/h")
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    # Text gives way on a narrow terminal, down to the longest word of a column; figures stay whole.
    least = [_longest_word([heading, *(row[place] for row in rows)]) for place, heading in enumerate(headings)]
    print_table(
        f"{format_items(len(found), 'what-if')}, the best first, below the plan as it is",
        columns,
        rows,
        text_columns=len(keys) + 1,
        folding=dict(enumerate([*least, _LONGEST_VERDICT])),
    )
    if base.error_bars:
        print_lines(["below a figure: its 95 % interval, by the queries drawn and by the tables' error bars together"])
    held, unknown = (sum(one.cell.holds_sla is value for one in found) for value in (True, None))
    left = len(found) - min(len(found), _SHOWN)
    remarks = [f"{held} of {len(found)} hold their SLA"]
    remarks += [f"{unknown} with too few queries to tell"] if unknown else []
    remarks += [f"{left} more in --out and --json"] if left else []
    print_lines(["; ".join(remarks)])


def _figures(cell: "GridCell", base: "GridCell") -> tuple[str, ...]:
    right, before = cell.correct_predictions_in_sla_per_s, base.correct_predictions_in_sla_per_s
    return (
        f"{_HELD[cell.holds_sla]}, {cell.verdict}",
        with_range_of_percentile(cell, "p99"),
        with_range_of_late(cell),
        f"{right:,.0f}",
        f"{right / before - 1:+.1%}" if before else "",
        "" if cell.cost_per_hour is None else f"{cell.cost_per_hour:,.2f}",
    )


def _longest_word(cells: "Sequence[str]") -> int:
    return min(_LONGEST_WORD, max(len(word) for cell in cells for word in cell.split()))


def _shown(value: object) -> str:
    return "-" if value == "" else f"{value:.10g}" if isinstance(value, float) else str(value)
