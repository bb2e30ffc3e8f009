"""`recplan profile`, `recplan report` and `recplan hardware`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import Json
from planner.cli.output import print_json, print_lines, print_table
from profiles.units import format_bytes, format_count, format_ms

if TYPE_CHECKING:
    from profiles.hardware import Hardware
    from profiles.model_profile import ModelProfile
    from profiles.providers.target import Target

__all__ = ["hardware", "profile", "register", "report"]

_SHOWN_ROWS = 60


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(profile)
    app.command()(report)
    app.command()(hardware)


def profile(
    target: Annotated[str, typer.Argument(help="A built-in model, or package.module:function giving (model, inputs).")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Also write rows and an icicle into this folder.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=0, help="Levels below the model.", show_default="all")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads to measure with.")] = 1,
    cold: Annotated[bool, typer.Option("--cold", help="Also measure with swept caches.")] = False,
    json: Json = False,
) -> None:
    """Profile a model module by module."""
    from profiles.walk import ProfileOptions, profile_model

    loaded, true_bytes = _load(target)
    options = ProfileOptions(max_depth=depth, threads=threads, cold=cold)
    result = profile_model(loaded.model, loaded.args, loaded.kwargs, options=options)
    if out is not None:
        _write_profile(result, out)
    summary = result.summary()
    true = {} if true_bytes is None else {"parameter_bytes": true_bytes}
    if json:
        print_json({**summary, "profiled_parameter_bytes": summary["parameter_bytes"], **true})
    else:
        _show_profile(target, result)
        if out is not None:
            print_lines([f"rows and icicle: {out}"])


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
    from dataclasses import asdict

    return {**asdict(entry), "peak_flops_per_s": dict(entry.peak_flops_per_s)}


def _load(target: str) -> "tuple[Target, int | None]":
    """The target, and the bytes of the model asked for where its tables were cut to fit this machine."""
    from profiles.errors import UnknownNameError
    from profiles.providers.target import Target, load_target
    from representations.target import profile_targets

    if ":" in target:
        return load_target(target), None
    if target not in profile_targets.names():
        raise UnknownNameError("target (or package.module:function)", target, profile_targets)
    built = profile_targets.get(target)()
    return Target(name=target, model=built.model, args=built.args), built.spec.parameter_bytes


def _write_profile(result: "ModelProfile", out: Path) -> None:
    from profiles.charts import icicle_chart, icicle_frame
    from profiles.files import replacing
    from profiles.store import ProfileStore

    store = ProfileStore(out)
    for row in result.rows:
        store.append(row)
    store.compact()
    with replacing(out / "icicle.html") as draft:
        icicle_chart(icicle_frame(result.rows)).save(draft, format="html", inline=True)


def _show_profile(target: str, result: "ModelProfile") -> None:
    rows = [
        (
            "  " * row.depth + (row.path.rpartition(".")[2] or target),
            row.class_name,
            format_ms(row.in_situ.median_ms) if row.in_situ else "",
            format_ms(row.warm.median_ms) if row.warm else "",
            format_count(row.flops, "FLOP") if row.flops else "",
            format_bytes(row.parameter_bytes) if row.parameter_bytes else "",
            row.provenance + (f": {row.reason}" if row.reason else ""),
        )
        for row in result.rows[:_SHOWN_ROWS]
    ]
    print_table(target, ("component", "class", "in situ", "alone", "FLOPs", "parameters", "figures are"), rows)
    if len(result.rows) > _SHOWN_ROWS:
        print_lines([f"... and {len(result.rows) - _SHOWN_ROWS} more rows (--out writes all)"])
