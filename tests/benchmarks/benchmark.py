"""What a benchmark is, and its command line."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.machine import describe_machine, load_average
from tests.benchmarks.markdown import page

__all__ = ["Benchmark", "Figures", "main"]

Figures = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """`measure(quick)` gives plain figures; `describe` turns them into the blocks of a page, and measures nothing.

    `charts` turns them into SVG by name, which pages show from `images/NAME.svg`. The page is `page_name`.md where that
    is given, else `name`.md.
    """

    name: str
    title: str
    measure: Callable[[bool], Figures]
    describe: Callable[[Mapping[str, Any]], list[str]]
    charts: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = None
    page_name: str = ""

    @property
    def file_name(self) -> str:
        """What the page is called."""
        return f"{self.page_name or self.name}.md"

    def report(self, *, quick: bool) -> Figures:
        """The figures, with where, when and how long."""
        machine = describe_machine()
        start = time.perf_counter()
        figures = self.measure(quick)
        seconds = round(time.perf_counter() - start, 1)
        machine["load_after"] = load_average()
        return {"benchmark": self.name, "quick": quick, **figures, "seconds": seconds, "machine": machine}

    def page(self, report: Mapping[str, Any]) -> str:
        """The page of a report."""
        return page(self.title, report, self.describe(report))


def main(benchmark: Benchmark, arguments: Sequence[str] | None = None) -> None:
    """Run one benchmark and print its page, or its JSON object."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.benchmarks.{benchmark.name}", description=benchmark.title)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the page")
    parser.add_argument("--quick", action="store_true", help="less of everything: done within 50 s")
    options = parser.parse_args(arguments)
    report = benchmark.report(quick=options.quick)
    text = json.dumps(report, allow_nan=False) + "\n" if options.json else benchmark.page(report)
    sys.stdout.write(text)
