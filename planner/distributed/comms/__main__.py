"""One rank of a comms benchmark: `torchrun ... -m planner.distributed.comms --out comms.json`."""

import argparse
import json
import os
import sys
from pathlib import Path

from planner.distributed.comms.job import CommsJob, message_sizes
from planner.distributed.comms.rank import joined, run_job
from planner.distributed.comms.result import write_comms
from planner.distributed.comms.traces import read_trace
from profiles.errors import InputError, RecplanError
from profiles.units import parse_bytes

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run as one rank; rank 0 writes the file. Returns the exit code."""
    given = _parser().parse_args(arguments)
    try:
        job = _job(given)
        with joined(given.store):
            result = run_job(job)
        if int(os.environ["RANK"]) == 0:
            write_comms(result, given.out)
    except KeyError as error:
        sys.stderr.write(f"error: {error.args[0]}: is not set in the environment; run under torchrun\n")
        return 2
    except RecplanError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, InputError) else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m planner.distributed.comms", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="what rank 0 writes")
    parser.add_argument("--least", default="1 KiB", help="smallest message (default: %(default)s)")
    parser.add_argument("--most", default="256 MiB", help="largest message (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=10, help="times that each call is made (default: %(default)s)")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="a recorded trace to replay after the fixed sizes")
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    return parser


def _job(given: argparse.Namespace) -> CommsJob:
    if given.job is not None:
        return CommsJob.from_object(json.loads(given.job.read_text(encoding="utf-8")))
    return CommsJob(
        fixed=message_sizes(parse_bytes(given.least), parse_bytes(given.most)),
        replay=read_trace(given.trace) if given.trace else (),
        repeats=given.repeats,
    )


if __name__ == "__main__":
    sys.exit(main())
