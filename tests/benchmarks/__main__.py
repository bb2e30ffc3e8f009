"""Run the benchmarks, each in a process of its own, and write their pages."""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from profiles.files import make_folder, replace_file
from tests.benchmarks import BENCHMARKS
from tests.benchmarks.benchmark import Benchmark

ROOT = Path(__file__).parent.parent.parent


def run_all(names: Sequence[str], folder: Path, *, quick: bool) -> list[str]:
    """Write the page of each benchmark into the folder; the names of those that failed."""
    make_folder(folder)
    failed = []
    for name in names:
        sys.stderr.write(f"{name} ...\n")
        command = [sys.executable, "-m", f"tests.benchmarks.{name}", "--json", *(["--quick"] if quick else [])]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            failed.append(name)
            continue
        benchmark: Benchmark = import_module(f"tests.benchmarks.{name}").BENCHMARK
        # Libraries may have written before it.
        report = json.loads(done.stdout.splitlines()[-1])
        replace_file(folder / benchmark.file_name, benchmark.page(report))
        for chart, svg in (benchmark.charts(report) if benchmark.charts else {}).items():
            replace_file(make_folder(folder / "images") / f"{chart}.svg", svg)
        sys.stderr.write(f"{name}: {report['seconds']:.0f} s -> {folder / benchmark.file_name}\n")
    return failed


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all by default: {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks", help="folder of the pages")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    if failed := run_all(options.names or BENCHMARKS, options.out, quick=options.quick):
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
