"""`recplan hardware`: the catalogue, what this machine is, and what it achieves."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.options import Json
from planner.cli.out_folder import try_out
from planner.cli.output import print_json, print_lines, print_table
from planner.cli.skipped import skipped_lines
from profiles.errors import InputError
from profiles.hardware import LOCAL_CPU
from profiles.units import format_bytes, format_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.cost_model.sampling import AdaptiveResult
    from profiles.hardware import Hardware

__all__ = ["hardware", "register"]

_BUDGET_S = 300.0
_QUICK_POINTS, _QUICK_FIRST = 16, 8

Calibrate = Annotated[
    bool, typer.Option("--calibrate", help="Measure this device for some minutes, for studies to be pointed at.")
]
Suite = Annotated[
    bool, typer.Option("--suite", help="Measure what this device achieves: products, MLPs, embedding tables.")
]
Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="SECONDS", help="How long a calibration may take.", show_default=f"{_BUDGET_S:g}"),
]
Folder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder of the profiles.", show_default="out/calibration or out/suite"),
]
Device = Annotated[
    str | None,
    typer.Option("--device", help="`cpu`, `cuda`, `cuda:N` or a catalogue name that is here.", show_default="cpu"),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Threads of torch.", show_default="1")]
Kinds = Annotated[list[str] | None, typer.Option("--kind", help="Calibrate this kind of component only. Repeatable.")]
Training = Annotated[bool, typer.Option("--training", help="Calibrate backward passes and optimizers' steps as well.")]
Ship = Annotated[bool, typer.Option("--ship", help="Make the calibration part of the installed package's data.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few small components, to try it out.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(hardware)


def hardware(
    calibrate: Calibrate = False,
    suite: Suite = False,
    budget: Budget = None,
    out: Folder = None,
    device: Device = None,
    threads: Threads = None,
    kind: Kinds = None,
    training: Training = False,
    ship: Ship = False,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Show the catalogue and what this machine is, calibrate a device, or measure what it achieves."""
    of_calibration = {"--ship": ship, "--training": training, "--kind": kind, "--budget": budget is not None}
    of_either = {"--quick": quick, "--out": out, "--device": device, "--threads": threads is not None}
    _require_use(of_calibration, of_either, is_calibration=calibrate, is_suite=suite)
    if not (calibrate or suite):
        _show_catalogue(json=json)
        return
    from profiles.devices import resolve_device

    local = resolve_device(device or "cpu", what="--device")
    if suite:
        from planner.cli.suite import show_suite

        show_suite(out or Path("out/suite"), local, threads or 1, is_quick=quick, json=json)
        return
    from planner.pipeline.calibrating import Calibration

    wanted = Calibration(
        device=local.name,
        threads=threads or 1,
        seconds=_BUDGET_S if budget is None else budget,
        kinds=tuple(kind) if kind else None,
        training=training,
        **({"points": _QUICK_POINTS, "first": _QUICK_FIRST} if quick else {}),
    )
    _calibrate(wanted, out or Path("out/calibration"), ship=ship, json=json)


def _require_use(
    of_calibration: "Mapping[str, object]", of_either: "Mapping[str, object]", *, is_calibration: bool, is_suite: bool
) -> None:
    """Refuse options that nothing would heed."""
    if is_calibration and is_suite:
        raise InputError("hardware: --calibrate and --suite are two runs; give one")
    if not is_calibration and (unused := [name for name, given in of_calibration.items() if given]):
        raise InputError(f"hardware: {unused[0]} is of a calibration; give --calibrate as well")
    if not (is_calibration or is_suite) and (unused := [name for name, given in of_either.items() if given]):
        raise InputError(f"hardware: {unused[0]} is of a measurement; give --calibrate or --suite as well")


def _calibrate(wanted: Any, folder: Path, *, ship: bool, json: bool) -> None:
    from planner.pipeline.calibrating import calibrate, ship_calibration
    from planner.progress import progress_for

    try_out(folder)
    result = calibrate(wanted, folder, progress_for())
    shipped = ship_calibration(folder, wanted.device, wanted.threads) if ship else None
    if json:
        body = {"store": str(folder), "measured": result.sweep.measured, "seconds": result.sweep.seconds}
        families = [asdict(one) for one in result.families]
        print_json({**body, "families": families, "shipped": str(shipped) if shipped else None})
        return
    _show_families(result, folder)
    where = folder.resolve()
    print_lines([
        f"profiles: {where}",
        f'a study uses them by [sweep] profiles = "{where}", plan, search and review by --profiles {where}',
    ])  # fmt: skip
    if shipped:
        use = (
            "to be compared with" if wanted.device == LOCAL_CPU else "and predicts this device where it is not measured"
        )
        print_lines([f"shipped: {shipped} is part of the package now, {use}"])


def _show_families(result: "AdaptiveResult", folder: Path) -> None:
    rows = [
        (one.family, str(one.points), "" if one.error is None else f"{one.error:.1%}", one.stopped)
        for one in result.families
    ]
    counts = f"{result.sweep.measured} measured, {len(result.sweep.skipped)} skipped"
    columns = ("family", "points", "error held out", "stopped by")
    print_table(f"Profiles in {folder}: {counts}", columns, rows)
    print_lines(skipped_lines(result.sweep.skipped))


def _show_catalogue(*, json: bool) -> None:
    from profiles.hardware import catalogue
    from profiles.shipped import shipped_setups

    entries, shipped = catalogue(), shipped_setups()
    if json:
        print_json({"devices": [_hardware_object(entry) for entry in entries.values()], "profiles_of": list(shipped)})
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
    measured = [
        f"{name} ({one.processor}, {one.threads} thread{'' if one.threads == 1 else 's'}, {one.timestamp[:10]})"
        for name, one in shipped.items()
    ]
    print_lines([
        f"measured profiles ship of: {', '.join(measured) or 'none'}",
        "this machine is measured by every study; what has no profiles is estimated until it is calibrated",
    ])  # fmt: skip


def _hardware_object(entry: "Hardware") -> dict[str, object]:
    return {**asdict(entry), "peak_flops_per_s": dict(entry.peak_flops_per_s)}
