"""The measuring core alone: `python -m profiles`, for a machine where only torch and numpy are installed."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from profiles.devices import local_devices, resolve_device
from profiles.errors import InputError, MeasurementError, RecplanError
from profiles.hardware import catalogue
from profiles.model_profile import ModelProfile
from profiles.parts import write_lines
from profiles.providers.target import load_target
from profiles.store import ProfileStore
from profiles.units import format_bytes, format_count, format_ms

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

    profile = commands.add_parser("profile", help="hierarchical profile of a model's forward pass")
    profile.add_argument("target", metavar="TARGET", help="package.module:function, which returns (model, inputs)")
    profile.add_argument("--out", type=Path, metavar="FILE", help="write the rows as JSON lines")
    profile.add_argument("--device", default="local-cpu", help="local-cpu, cuda, cuda:1 (default: local-cpu)")
    profile.add_argument("--depth", type=int, help="profile modules down to this depth; the model itself is 0")
    profile.add_argument("--threads", type=int, default=1, help="torch's thread count (default: 1)")
    profile.add_argument("--cold", action="store_true", help="measure each module with cold caches as well")
    profile.add_argument("--json", action="store_true", help="print one JSON object")
    profile.set_defaults(run=_profile)

    compact = commands.add_parser("compact", help="move a store's parts into its Parquet file (needs Polars)")
    compact.add_argument("directory", type=Path, metavar="DIR")
    compact.set_defaults(run=_compact)
    return parser


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
    from profiles.measure import move_to
    from profiles.walk import ProfileOptions, profile_model

    options = ProfileOptions(max_depth=parsed.depth, threads=parsed.threads, cold=parsed.cold)
    device = resolve_device(parsed.device).torch_device
    target = load_target(parsed.target)
    args, kwargs = move_to(target.args, device), move_to(dict(target.kwargs), device)
    profile = profile_model(target.model.to(device), args, kwargs, options=options)
    if parsed.out:
        write_lines(parsed.out, [row.to_row() for row in profile.rows])
        sys.stderr.write(f"wrote {len(profile.rows)} rows to {parsed.out}\n")
    return json.dumps(profile.summary()) + "\n" if parsed.json else _table(profile)


def _table(profile: ModelProfile) -> str:
    lines = [f"{'in the model':>12} {'alone':>10} {'FLOPs':>12} {'parameters':>11}  module"]
    for row in profile.rows:
        in_situ = format_ms(row.in_situ.median_ms) if row.in_situ else "-"
        warm = format_ms(row.warm.median_ms) if row.warm else "-"
        flops = format_count(row.flops, "FLOP") if row.flops is not None else "-"
        size = format_bytes(row.parameter_bytes) if row.parameter_bytes is not None else "-"
        name = f"{'  ' * row.depth}{row.path.rpartition('.')[2] or '(model)'} {row.class_name}"
        note = f"  [{row.provenance}: {row.reason}]" if row.provenance != "measured" else ""
        lines.append(f"{in_situ:>12} {warm:>10} {flops:>12} {size:>11}  {name}{note}")
    return "\n".join(lines) + "\n"


def _compact(parsed: argparse.Namespace) -> str:
    if not parsed.directory.is_dir():
        raise InputError(f"{parsed.directory}: no such folder")
    try:
        return f"{ProfileStore(parsed.directory).compact()}\n"
    except ImportError as error:
        raise MeasurementError(f"compact: needs a package that is not installed: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
