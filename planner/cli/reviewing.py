"""`recplan profile`, `recplan report` and `recplan hardware`."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import Json
from planner.cli.output import message, print_json, print_lines, print_table
from profiles.errors import MeasurementError, UnknownNameError
from profiles.units import format_bytes, format_count

if TYPE_CHECKING:
    from profiles.hardware import Hardware
    from profiles.model_profile import ModelProfile
    from profiles.providers.target import Target

__all__ = ["hardware", "profile", "register", "report"]


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
    _check_target(target)
    from planner.cli.profile_table import show_profile
    from profiles.walk import ProfileOptions, profile_model

    loaded, cut = _load(target)
    options = ProfileOptions(max_depth=depth, threads=threads, cold=cold)
    result = profile_model(loaded.model, loaded.args, loaded.kwargs, options=options)
    root = result.rows[0]
    if root.provenance == "skipped":
        raise MeasurementError(f"target {target!r}: forward raised {root.reason}")
    if root.provenance == "aggregated":
        message(f"warning: target {target!r}: forward raised {root.reason}")
    if out is not None:
        _write_profile(result, out)
    if json:
        print_json(_profile_object(result, cut))
        return
    show_profile(target, result)
    if cut is not None:
        print_lines([cut.sentence(root.parameter_bytes or 0)])
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
    return {**asdict(entry), "peak_flops_per_s": dict(entry.peak_flops_per_s)}


@dataclass(frozen=True, kw_only=True, slots=True)
class _AskedFor:
    """What a built-in model holds, of which the one profiled may be a cut: its largest tables have `rows` rows."""

    parameter_bytes: int
    rows: int | None

    def sentence(self, profiled_bytes: int) -> str:
        if self.rows is None:
            return f"parameters: {format_bytes(self.parameter_bytes)}"
        return (
            f"parameters: {format_bytes(self.parameter_bytes)} in the model; {format_bytes(profiled_bytes)} were "
            f"profiled, with tables cut to {self.rows:,} rows to fit"
        )


def _profile_object(result: "ModelProfile", asked: _AskedFor | None) -> dict[str, object]:
    """The summary; `parameter_bytes` is that of the model asked for, `latency_kind` how `latency_ms` was taken."""
    summary, root = result.summary(), result.rows[0]
    return {
        **summary,
        "latency_kind": "alone" if root.warm else "in situ" if root.in_situ else None,
        "parameter_bytes": asked.parameter_bytes if asked else summary["parameter_bytes"],
        "profiled_parameter_bytes": summary["parameter_bytes"],
        "tables_cut_to_rows": asked.rows if asked else None,
    }


def _check_target(target: str) -> None:
    """Refuse an unknown built-in name before anything slow is loaded."""
    from representations.target import profile_targets

    if ":" not in target and target not in profile_targets.names():
        raise UnknownNameError("target (or package.module:function)", target, profile_targets)


def _load(target: str) -> "tuple[Target, _AskedFor | None]":
    """The target, and for a built-in model what was asked for."""
    from profiles.providers.target import InputBatch, Target, load_target
    from representations.target import profile_targets

    if ":" in target:
        return load_target(target), None
    built = profile_targets.get(target)()
    asked = _AskedFor(parameter_bytes=built.spec.parameter_bytes, rows=built.cut_rows)
    return Target(name=target, model=built.model, batches=(InputBatch(args=built.args),)), asked


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
