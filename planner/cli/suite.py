"""`recplan hardware --suite`: measure the suite and show what a device achieves."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from planner.cli.out_folder import try_out
from planner.cli.output import print_json, print_lines, print_table
from profiles.units import format_ms

if TYPE_CHECKING:
    from planner.cost_model.suite import SuiteRow
    from profiles.devices import LocalDevice

__all__ = ["show_suite"]

_FIGURES = ("median", "TFLOP/s", "GB/s", "of peak", "of bandwidth")
_NARROWEST_NAME = 28


def show_suite(folder: Path, local: "LocalDevice", threads: int, *, is_quick: bool, json: bool) -> None:
    """Measure into the folder what it lacks, and print all of it."""
    try_out(folder)
    rows = _measured(folder, local, threads, is_quick=is_quick)
    if json:
        print_json({"store": str(folder), "device": local.name, "rows": [asdict(row) for row in rows]})
        return
    figures = [_figures(row) for row in rows]
    # Shares are known of published peaks alone.
    kept = [place for place in range(len(_FIGURES)) if any(one[place] for one in figures)]
    print_table(
        f"What {local.processor} achieves by {threads} thread{'s' if threads > 1 else ''}",
        ("case", "dtype", "caches", *(_FIGURES[place] for place in kept)),
        [
            (row.name, row.dtype, "swept" if row.is_cold else "warm", *(one[place] for place in kept))
            for row, one in zip(rows, figures, strict=True)
        ],
        text_columns=3,
        folding={0: _NARROWEST_NAME},
    )
    print_lines(f"skipped: {row.name}, {row.dtype}: {row.skipped}" for row in rows if row.skipped)
    print_lines(f"note: {scale}" for scale in dict.fromkeys(row.scale for row in rows) if scale)
    print_lines([f"profiles: {folder.resolve()}"])


def _measured(folder: Path, local: "LocalDevice", threads: int, *, is_quick: bool) -> "Sequence[SuiteRow]":
    from planner.cost_model.suite import run_suite, suite_cases
    from planner.progress import progress_for
    from profiles.hardware import catalogue, local_cpu
    from profiles.store import ProfileStore
    from profiles.sweep_options import SweepOptions

    memory_bytes = catalogue().get(local.name, local_cpu()).memory_bytes
    cases = suite_cases(is_accelerator=local.is_cuda, memory_bytes=memory_bytes, is_quick=is_quick)
    options = SweepOptions(threads=threads, seconds_per_visit=0.002 if is_quick else 0.1, group_size=8)
    with progress_for().stage(f"measuring {len(cases)} cases on {local.name}", len(cases)) as stage:
        return run_suite(
            cases,
            ProfileStore(folder),
            device=local.name,
            options=options,
            progress=lambda now: stage.update(now.done, now.total, f"{now.visits_left} visits left"),
        )


def _figures(row: "SuiteRow") -> tuple[str, ...]:
    rates = (row.flops_per_s, row.bytes_per_s)
    tera, giga = ("" if rate is None else f"{rate / unit:.3g}" for rate, unit in zip(rates, (1e12, 1e9), strict=True))
    shares = ("" if share is None else f"{share:.1%}" for share in (row.flops_share, row.bandwidth_share))
    return (format_ms(row.median_ms) if row.median_ms else "", tera, giga, *shares)
