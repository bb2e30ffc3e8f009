"""The simulator against queueing theory over many queries, and its memory over a thousand million. Nothing is timed."""

import math
import time
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from serving_sim.engine import SimulationOptions, start_simulation
from serving_sim.self_check import QUEUES, Check, check_laws, check_wait, queue_plan
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, table
from tests.benchmarks.serving_scenario import six_path_plan

__all__ = ["BENCHMARK", "resident_bytes", "rows_of"]

_LOADS = (0.5, 0.8, 0.95)
_GOAL = 0.005
_MEMORY_STEPS = 10

_INTRODUCTION = """\
Mean waits of queues with a formula: Poisson arrivals, a mean service of 1, exponential (M/M/c: Erlang C), constant
(M/D/1) or lognormal of sigma 0.5 (M/G/1: Pollaczek and Khinchine). One seed, the first 10,000 queries not counted. The
standard error of one server is exact (asymptotic variance of the mean wait, `mg1_asymptotic_variance` in
`serving_sim/theory.py`; in M/M/1 it is Daley's of 1968), that of several servers is from 32 batch means."""
_GOALS = """\
Goals: within 0.5 % at load 0.5 and 0.8 over 2e7 queries; at 0.95 within three standard errors, and within 0.5 % over
6e8. Little's law compares the time average of the queries in the system, counted from arrivals and finishes, with
rate x latency; the other laws compare busy time with service times, and look for a server that idles while a query
waits."""


def resident_bytes() -> int:
    """Memory of this process that is in RAM now."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _measure(quick: bool) -> Figures:
    each, long, longest = (1_000_000, 20_000_000, 20_000_000) if quick else (20_000_000, 600_000_000, 1_000_000_000)
    waits = [check_wait(queue, load, each) for queue, load in product(QUEUES, _LOADS)]
    start = time.perf_counter()
    heavy = check_wait(QUEUES[0], 0.95, long)
    heavy_s = time.perf_counter() - start
    laws = check_laws(queue_plan(QUEUES[1], 0.8, 200_000), fifo=True)
    return {
        "waits": rows_of(waits),
        "heavy": {**rows_of([heavy])[0], "wall_s": heavy_s},
        "laws": rows_of(laws),
        "failed": sum(not one.passed for one in (*waits, *laws)),
        "heavy_within_goal": abs(heavy.simulated / heavy.expected - 1) <= _GOAL,
        "memory": _memory(longest),
    }


def rows_of(checks: list[Check] | tuple[Check, ...]) -> list[Figures]:
    """The checks as plain figures."""
    return [one.to_object() for one in checks]


def _memory(queries: int) -> Figures:
    """Resident memory at the start of a long run, after each tenth, and how fast it went."""
    simulation = start_simulation(
        six_path_plan("mp-rec", queries), options=SimulationOptions(exact_queries=0, fluid_bound=True)
    )
    simulation.advance(100_000)
    before = resident_bytes()
    after: list[int] = []
    served = 100_000
    start = time.perf_counter()
    for left in range(_MEMORY_STEPS, 0, -1):
        step = (queries - served) // left
        simulation.advance(step)
        served += step
        after.append(resident_bytes())
    seconds = time.perf_counter() - start
    result = simulation.result()
    return {
        "queries": result.queries,
        "resident_before_bytes": before,
        "resident_after_bytes": after,
        "grown_bytes": max(after) - before,
        "wall_s": seconds,
        "queries_per_s": (queries - 100_000) / seconds,
        "p99_ms": result.latency_ms["p99"],
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    failed = report["failed"]
    rows = f"**{failed} rows are not**" if failed else "Every row is"
    allowed = "0.5 %, or three standard errors where the run is too short to tell 0.5 %"
    return [
        _INTRODUCTION,
        _GOALS,
        "## Mean waits",
        _table(report["waits"]),
        f"{rows} as close as allowed ({allowed}).",
        "## Load 0.95, many queries",
        _heavy_line(report["heavy"], within=report["heavy_within_goal"]),
        "## Laws (M/M/2, load 0.8)",
        _table(report["laws"]),
        "## Memory",
        bullets(_memory_lines(report["memory"])),
    ]


def _heavy_line(heavy: Mapping[str, Any], *, within: bool) -> str:
    off = heavy["simulated"] / heavy["expected"] - 1
    verdict = "within 0.5 %" if within else "**not within 0.5 %**"
    return (
        f"M/M/1 over {heavy['queries']:,} queries: mean wait {heavy['simulated']:.4f} services, theory "
        f"{heavy['expected']:.4f}: {off:+.3%} ({verdict}; standard error {_relative(heavy)}; {heavy['wall_s']:.0f} s)."
    )


def _memory_lines(memory: Mapping[str, Any]) -> list[str]:
    after = ", ".join(f"{one / 1e6:.1f}" for one in memory["resident_after_bytes"])
    ran = (
        f"{memory['queries']:,} queries of six paths on two devices under `mp-rec`, with percentiles (from the "
        f"histogram) and the fluid bound, in one process: {memory['wall_s']:.0f} s"
    )
    before = f"resident memory after the first 100,000: {memory['resident_before_bytes'] / 1e6:.1f} MB"
    return [ran, f"{before}; after each tenth: {after} MB"]


def _table(rows: list[Mapping[str, Any]]) -> str:
    columns = ("subject", "figure", "queries", "expected", "simulated", "difference", "standard error", "verdict")
    return table(
        columns,
        [
            (
                row["subject"],
                row["figure"],
                f"{row['queries']:,}",
                f"{row['expected']:,.6g}",
                f"{row['simulated']:,.6g}",
                f"{row['difference'] / row['expected']:+.3%}" if row["expected"] else f"{row['difference']:.2g}",
                _relative(row),
                "right" if row["passed"] else "**wrong**",
            )
            for row in rows
        ],
    )


def _relative(row: Mapping[str, Any]) -> str:
    error = row["standard_error"]
    return "" if error is None or math.isclose(row["expected"], 0.0) else f"{error / row['expected']:.3%}"


BENCHMARK = Benchmark(
    name="theory",
    title="The simulator against queueing theory",
    measure=_measure,
    describe=_describe,
)

if __name__ == "__main__":
    main(BENCHMARK)
