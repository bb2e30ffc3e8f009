"""The measuring core alone: `python -m profiles`, for a machine where only torch and numpy are installed."""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from profiles.devices import local_devices, resolve_device
from profiles.errors import InputError, MeasurementError, RecplanError
from profiles.files import make_folder
from profiles.hardware import catalogue
from profiles.model_profile import ModelProfile
from profiles.parts import write_lines
from profiles.plug_ins import named_preprocessors, named_profilers, named_writers
from profiles.preprocessors import preprocessors
from profiles.profilers import profilers
from profiles.providers import check_target, find_target, target_names
from profiles.results import ResultWriter, profile_lines, result_writers
from profiles.store import ProfileStore
from profiles.units import format_bytes

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 is done, 2 bad input, 1 a failure."""
    parsed = _parser().parse_args(arguments)
    try:
        sys.stdout.write(parsed.run(parsed))
    except RecplanError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, InputError) else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m profiles", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    hardware = commands.add_parser("hardware", help="what this machine is, and the catalogue")
    hardware.add_argument("--json", action="store_true", help="print one JSON object")
    hardware.set_defaults(run=_hardware)

    _add_profile(commands.add_parser("profile", help="hierarchical profile of a model"))

    compact = commands.add_parser("compact", help="move a store's parts into its Parquet file (needs Polars)")
    compact.add_argument("directory", type=Path, metavar="DIR")
    compact.set_defaults(run=_compact)
    return parser


def _add_profile(profile: argparse.ArgumentParser) -> None:
    add = profile.add_argument
    add("target", metavar="TARGET", nargs="?", help="a model's name, or package.module:function")
    add("--list", action="store_true", help="show the known names, and exit")
    add("--out", type=Path, metavar="DIR", help="write the profile there")
    add("--format", action="append", metavar="NAME", help="what to write (default: json); repeatable")
    add("--rows", type=Path, metavar="FILE", help="write the rows as JSON lines, for a profile store")
    add("--device", default="local-cpu", help="local-cpu, cuda, cuda:1 (default: local-cpu)")
    add("--batch", type=int, metavar="N", help="samples per batch")
    add("--backward", action="store_true", help="also the backward pass")
    add("--cold", action=argparse.BooleanOptionalAction, default=True, help="also with swept caches")
    add("--depth", type=int, help="levels below the model")
    add("--include", action="append", default=[], metavar="GLOB", help="run only these paths alone; repeatable")
    add("--class", action="append", default=[], dest="classes", metavar="NAME", help="only these classes; repeatable")
    add("--min-share", type=float, default=0.0, help="run alone what takes this share of the time")
    add("--interval", type=float, default=0.05, help="visit again until the 95 %% interval is this narrow")
    add("--budget", type=float, metavar="SECONDS", help="stop visiting again after")
    add("--threads", type=int, default=1, help="torch's thread count (default: 1)")
    add("--with", action="append", default=[], dest="preparations", metavar="NAME[=OPTION]", help="prepare the model")
    add("--profiler", action="append", default=[], metavar="NAME[=OPTION]", help="measure more; repeatable")
    add("--json", action="store_true", help="print one JSON object")
    profile.set_defaults(run=_profile)


def _hardware(parsed: argparse.Namespace) -> str:
    here, known = local_devices(), catalogue()
    if parsed.json:
        body = {"here": [asdict(device) for device in here], "catalogue": [asdict(entry) for entry in known.values()]}
        return json.dumps(body) + "\n"
    lines = [f"{device.name:<12} {device.processor} (here, as {device.torch_name})" for device in here]
    lines += [
        f"{entry.name:<12} {entry.title}: {format_bytes(entry.memory_bytes)}, "
        f"{format_bytes(entry.bandwidth_bytes_per_s)}/s"
        for entry in known.values()
        if not entry.is_local
    ]
    return "\n".join(lines) + "\n"


def _profile(parsed: argparse.Namespace) -> str:
    if parsed.list:
        return _names()
    if parsed.target is None:
        raise InputError("profile: name a target, or ask for --list")
    from profiles.placement import placed_target
    from profiles.profile_options import ProfileOptions
    from profiles.walk import profile_target

    check_target(parsed.target)
    writers = _writers(parsed)
    options = ProfileOptions(
        max_depth=parsed.depth,
        threads=parsed.threads,
        cold=parsed.cold,
        backward=parsed.backward,
        include=tuple(parsed.include),
        classes=tuple(parsed.classes),
        min_share=parsed.min_share,
        interval=parsed.interval,
        budget_s=parsed.budget,
        folder=parsed.out,
    )
    batch = [] if parsed.batch is None else [f"batch={parsed.batch}"]
    device = resolve_device(parsed.device).torch_device
    profile = profile_target(
        placed_target(find_target(parsed.target), device),
        options=options,
        preprocessors=named_preprocessors((*batch, *parsed.preparations)),
        profilers=named_profilers(parsed.profiler, parsed.out),
    )
    _write(profile, parsed, writers)
    if parsed.json:
        return json.dumps(profile.summary()) + "\n"
    width = shutil.get_terminal_size((120, 40)).columns
    phases = dict.fromkeys(row.phase for row in profile.rows)
    return "".join(f"{line}\n" for phase in phases for line in profile_lines(profile, width, phase=phase))


def _writers(parsed: argparse.Namespace) -> tuple[ResultWriter, ...]:
    if parsed.format and parsed.out is None:
        raise InputError("profile: --format needs a folder to write to: give --out, too")
    if parsed.out:
        make_folder(parsed.out)
    return named_writers(parsed.format or ("json",)) if parsed.out else ()


def _write(profile: ModelProfile, parsed: argparse.Namespace, writers: Sequence[ResultWriter]) -> None:
    for writer in writers:
        sys.stderr.write(f"wrote {writer.write(profile, parsed.out)}\n")
    if parsed.rows:
        write_lines(parsed.rows, [row.to_row() for row in profile.rows])
        sys.stderr.write(f"wrote {len(profile.rows)} rows to {parsed.rows}\n")


def _names() -> str:
    known = {
        **{f"targets of {provider}": names for provider, names in target_names().items()},
        "preprocessors": preprocessors.names(),
        "profilers": profilers.names(),
        "result writers": result_writers.names(),
    }
    return "".join(f"{what}: {', '.join(names)}\n" for what, names in known.items())


def _compact(parsed: argparse.Namespace) -> str:
    if not parsed.directory.is_dir():
        raise InputError(f"{parsed.directory}: no such folder")
    try:
        return f"{ProfileStore(parsed.directory).compact()}\n"
    except ImportError as error:
        raise MeasurementError(f"compact: needs a package that is not installed: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
