"""`recplan hardware`: the catalogue, what this machine is, and what it achieves."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.options import Json
from planner.cli.output import print_json, print_lines, print_table
from profiles.errors import InputError
from profiles.hardware import LOCAL_CPU
from profiles.units import format_bytes, format_count, format_ms

if TYPE_CHECKING:
    from planner.cost_model.sampling import AdaptiveResult
    from planner.cost_model.suite import SuiteRow
    from profiles.hardware import Hardware

__all__ = ["hardware", "register"]

_BUDGET_S = 300.0
_REASONS_SHOWN = 3
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
Device = Annotated[str, typer.Option("--device", help="`cpu`, `cuda`, `cuda:N` or a catalogue name that is here.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Threads of torch.")]
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
    device: Device = "cpu",
    threads: Threads = 1,
    kind: Kinds = None,
    training: Training = False,
    ship: Ship = False,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Show the catalogue and what this machine is, calibrate a device, or measure what it achieves."""
    if calibrate and suite:
        raise InputError("hardware: --calibrate and --suite are two runs; give one")
    given = {"ship": ship, "training": training, "kind": kind, "budget": budget is not None}
    unused = [name for name, is_given in given.items() if is_given]
    if unused and not calibrate:
        raise InputError(f"hardware: --{unused[0]} is of a calibration; give --calibrate as well")
    if suite:
        _run_suite(out or Path("out/suite"), device, threads, is_quick=quick, json=json)
    elif calibrate:
        from planner.pipeline.calibrating import Calibration
        from profiles.devices import resolve_device

        wanted = Calibration(
            device=resolve_device(device, what="--device").name,
            threads=threads,
            seconds=_BUDGET_S if budget is None else budget,
            kinds=tuple(kind) if kind else None,
            training=training,
            **({"points": _QUICK_POINTS, "first": _QUICK_FIRST} if quick else {}),
        )
        _calibrate(wanted, out or Path("out/calibration"), ship=ship, json=json)
    else:
        _show_catalogue(json=json)


def _calibrate(wanted: Any, folder: Path, *, ship: bool, json: bool) -> None:
    from planner.pipeline.calibrating import calibrate, ship_calibration
    from planner.progress import progress_for

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
        use = "" if wanted.device == LOCAL_CPU else ", and predicts this device where it is not measured"
        print_lines([f"shipped: {shipped} is part of the package now{use}"])


def _show_families(result: "AdaptiveResult", folder: Path) -> None:
    rows = [
        (one.family, str(one.points), "" if one.error is None else f"{one.error:.1%}", one.stopped)
        for one in result.families
    ]
    counts = f"{result.sweep.measured} measured, {len(result.sweep.skipped)} skipped"
    columns = ("family", "points", "error held out", "stopped by")
    print_table(f"Profiles in {folder}: {counts}", columns, rows)
    reasons = Counter(reason for _, reason in result.sweep.skipped)
    print_lines(f"skipped ({count}): {reason}" for reason, count in reasons.most_common(_REASONS_SHOWN))


def _run_suite(folder: Path, device: str, threads: int, *, is_quick: bool, json: bool) -> None:
    from planner.cost_model.suite import run_suite, suite_cases
    from planner.progress import progress_for
    from profiles.devices import resolve_device
    from profiles.hardware import catalogue, local_cpu
    from profiles.store import ProfileStore
    from profiles.sweep_options import SweepOptions

    local = resolve_device(device, what="--device")
    memory_bytes = catalogue().get(local.name, local_cpu()).memory_bytes
    cases = suite_cases(is_accelerator=local.is_cuda, memory_bytes=memory_bytes, is_quick=is_quick)
    options = SweepOptions(threads=threads, seconds_per_visit=0.002 if is_quick else 0.1, group_size=8)
    with progress_for().stage(f"measuring {len(cases)} cases on {local.name}", len(cases)) as stage:
        rows = run_suite(
            cases,
            ProfileStore(folder),
            device=local.name,
            options=options,
            progress=lambda now: stage.update(now.done, now.total, f"{now.visits_left} visits left"),
        )
    if json:
        print_json({"store": str(folder), "device": local.name, "rows": [asdict(row) for row in rows]})
        return
    columns = ("case", "dtype", "median", "TFLOP/s", "GB/s", "of peak", "of bandwidth", "note")
    title = f"What {local.processor} achieves by {threads} thread{'s' if threads > 1 else ''}"
    print_table(title, columns, [_suite_cells(row) for row in rows], folding=())


def _suite_cells(row: "SuiteRow") -> tuple[str, ...]:
    rates = (row.flops_per_s, row.bytes_per_s)
    tera, giga = ("" if rate is None else f"{rate / unit:.3g}" for rate, unit in zip(rates, (1e12, 1e9), strict=True))
    shares = ("" if share is None else f"{share:.1%}" for share in (row.flops_share, row.bandwidth_share))
    note = row.skipped or "; ".join(word for word in ("caches swept" if row.is_cold else "", row.scale) if word)
    return (row.name, row.dtype, format_ms(row.median_ms) if row.median_ms else "", tera, giga, *shares, note)


def _show_catalogue(*, json: bool) -> None:
    from profiles.hardware import catalogue
    from profiles.shipped import shipped_devices

    entries, shipped = catalogue(), shipped_devices()
    if json:
        print_json({"devices": [_hardware_object(entry) for entry in entries.values()], "profiles_of": shipped})
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
    print_lines(
        [f"measured profiles ship of: {', '.join(shipped) or 'none'}; all others are estimated until calibrated"]
    )


def _hardware_object(entry: "Hardware") -> dict[str, object]:
    return {**asdict(entry), "peak_flops_per_s": dict(entry.peak_flops_per_s)}
