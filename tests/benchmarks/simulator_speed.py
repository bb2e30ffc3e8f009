"""How many queries the simulator serves per second of one core, beside SimPy and loops written by hand."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import reduce
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from serving_sim.engine import SimulationOptions, simulate
from serving_sim.grid import simulate_grid
from serving_sim.kernels import Chunk, account_chunk
from serving_sim.run import start_run
from serving_sim.workload import empty_chunk
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, percent, significant, table, with_quartiles
from tests.benchmarks.serving_loops import largest_difference, loops
from tests.benchmarks.serving_scenario import POLICIES, Drawn, draw, six_path_plan
from tests.benchmarks.timing import Alternative, Samples, interleave, rates, ratios, spread_of

__all__ = ["BENCHMARK", "alternatives", "figures_of"]

# As large as the chunks that `simulate` draws.
_CHUNK = SimulationOptions().chunk_queries
_SIGMA = 0.1
_GRID_QUERIES = 100_000
_COMMAND_QUERIES = 1_000_000
# Measured in grids and commands alone.
_PRICED = "headroom"

_LABELS = {
    "predrawn": "simulator, queries pre-drawn",
    "totals": "of which totals alone",
    "full": "`simulate()` as it comes",
    "full_without_bound": "`simulate()` without the fluid bound",
    "full_with_spread": "`simulate()`, service times scattered",
    "bare": "bare numba loop",
    "heap": "plain Python heap loop",
    "simpy": "SimPy",
}


_INTRODUCTION = """\
Six paths (a table, a DHE and a hybrid on each of two devices of one server; the latency tables are invented), 1,000
queries a second, Poisson arrivals, lognormal sizes of mean 128 and sigma 1, SLA 10 ms, no scatter of service times
unless stated. Figures are medians over rounds with quartiles in brackets; the alternatives take turns within a round.
Before the clock runs, every rival's latencies are compared with the simulator's, query by query."""
_REFERENCE = (
    "Reference: on a processor with AVX-512 a loop of this kind served 42 million pre-drawn queries per core-second, "
    "and 14 million with draws and exact percentiles; SimPy served 0.15 to 0.24 million there. The bare loop's figure "
    "above says how much of the distance is the processor's."
)
_MEANING = """\
- **pre-drawn** (`predrawn_qps`): routing, queues and all totals (percentile histogram, violations, correct predictions,
  shares by path and size) of queries whose gaps and sizes are in memory; *totals alone* adds up queries that were
  served before.
- **`simulate()` as it comes** (`full_qps`): with the drawing of queries, exact percentiles, the fluid bound and the
  result. The two lines below it take the bound away, and add one lognormal factor per query (sigma 0.1).
- **bare numba loop**: the same recurrence for this one scenario, one query after the other, which writes each query's
  latency and adds nothing up: what generality, totals and chunks cost is to be seen beside it, and what it saves to
  serve the halves of a chunk side by side.
- **heap loop** and **SimPy**: the same arrivals and sizes in memory, routed by the same rule in plain Python; they
  write each query's latency and add nothing up.
- **a command** (`command_s`): `recplan simulate mp-rec-hw1 --queries 1000000 --policy ...` by the clock on the wall,
  from the start of Python to the end of the process, after one that is not counted (it compiles the loops where that
  has not been done, and Python's own files).
- **1,000 what-ifs** (`thousand_whatifs_s`): 50 rates x 20 SLAs of 100,000 queries each, with percentiles, together in
  `simulate_grid` on one thread; drawing, compiling rules and reading off results included. Those of `headroom` are
  served one at a time."""


def _measure(quick: bool) -> Figures:
    policies = {policy: _measure_policy(policy, quick=quick) for policy in POLICIES}
    headline = {name: value for name, value in policies[POLICIES[0]].items() if isinstance(value, float)}
    priced = {**_thousand_whatifs(_PRICED, 1), **_command(_PRICED, 3 if quick else 9)}
    return {"policy": POLICIES[0], **headline, "policies": policies, "priced": {_PRICED: priced}}


def _measure_policy(policy: str, *, quick: bool) -> Figures:
    queries, few, rounds = (2**18, 10_000, 5) if quick else (2**20, 30_000, 15)
    drawn = draw(six_path_plan(policy, queries))
    difference = largest_difference(drawn, few)
    figures = figures_of(interleave(alternatives(drawn, few), rounds))
    whatifs, command = _thousand_whatifs(policy, 1 if quick else 5), _command(policy, 3 if quick else 9)
    return {**figures, **whatifs, **command, "largest_difference": difference}


def _thousand_whatifs(policy: str, rounds: int) -> Figures:
    """CPU time of a grid of 1,000 plans on one thread."""
    plan = six_path_plan(policy, _GRID_QUERIES)
    plans = [plan.at(qps=qps, sla_ms=sla_ms) for qps in np.linspace(200, 4000, 50) for sla_ms in np.linspace(2, 21, 20)]
    seconds = interleave({"grid": Alternative(call=lambda: simulate_grid(plans, workers=1))}, rounds)["grid"]
    spread = spread_of(seconds)
    return {"thousand_whatifs_s": spread.median, "whatifs_s": spread.to_object()}


def _command(policy: str, rounds: int) -> Figures:
    """How long a whole command takes, start and end of Python included."""
    arguments = ("simulate", "mp-rec-hw1", "--queries", str(_COMMAND_QUERIES), "--policy", policy, "--json")
    line = [sys.executable, "-c", "from planner.cli import main; main()", *arguments]
    with TemporaryDirectory() as folder:
        # Compiled Python files as an installation has them, whether or not this process may write them.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        call = Alternative(call=lambda: subprocess.run(line, env=environment, stdout=subprocess.DEVNULL, check=True))
        seconds = interleave({"command": call}, rounds, time.perf_counter)["command"]
    spread = spread_of(seconds)
    return {"command_s": spread.median, "commands_s": spread.to_object()}


def figures_of(seconds: Samples) -> Figures:
    """Speeds and ratios of what was timed."""
    qps = {name: rates(values) for name, values in seconds.items()}
    over = {name: ratios(seconds[name], seconds["predrawn"]) for name in ("simpy", "heap", "bare")}
    return {
        "predrawn_qps": qps["predrawn"].median,
        "full_qps": qps["full"].median,
        "ratio_over_simpy": over["simpy"].median,
        "ratio_over_heap_loop": over["heap"].median,
        "ratio_over_bare_loop": over["bare"].median,
        "qps": {name: spread.to_object() for name, spread in qps.items()},
        "ratios": {name: spread.to_object() for name, spread in over.items()},
    }


def alternatives(drawn: Drawn, few: int) -> dict[str, Alternative]:
    """What is timed: the simulator on all of the queries, slow rivals on the first few."""
    plan, queries = drawn.plan, drawn.plan.workload.queries
    scattered = six_path_plan(plan.policy.name, queries, sigma=_SIGMA)
    without = SimulationOptions(fluid_bound=False)
    rivals = loops(drawn, few)
    return {
        "predrawn": Alternative(call=lambda: _predrawn(drawn), units=queries),
        "totals": _totals_alone(drawn),
        "full": Alternative(call=lambda: simulate(plan), units=queries),
        "full_without_bound": Alternative(call=lambda: simulate(plan, options=without), units=queries),
        "full_with_spread": Alternative(call=lambda: simulate(scattered), units=queries),
        "bare": Alternative(call=loops(drawn, queries)["bare"], units=queries),
        "heap": Alternative(call=rivals["heap"], units=few),
        "simpy": Alternative(call=rivals["simpy"], units=few),
    }


def _predrawn(drawn: Drawn) -> None:
    """Routing and queues of every query, and its totals, chunk by chunk as `simulate` does it."""
    load = drawn.plan.workload
    run = start_run(drawn.paths, drawn.rule, qps=load.qps, sla_ms=load.sla_ms)
    room = empty_chunk(_CHUNK, drawn.chunk.factor_KN.shape[0])
    for start in range(0, load.queries, _CHUNK):
        run.serve(_part(drawn.chunk, start, room), min(_CHUNK, load.queries - start))


def _totals_alone(drawn: Drawn) -> Alternative:
    """Adding up one chunk that has been served, again and again."""
    load = drawn.plan.workload
    run = start_run(drawn.paths, drawn.rule, qps=load.qps, sla_ms=load.sla_ms)
    count = min(_CHUNK, load.queries)
    part = _part(drawn.chunk, 0, empty_chunk(_CHUNK, drawn.chunk.factor_KN.shape[0]))
    run.serve(part, count)
    return Alternative(
        call=lambda: account_chunk(part, count, 0, run.sla_ms_C, run.paths, run.queues.busy_ms_D, run.totals),
        calls=32,
        units=count,
    )


def _part(chunk: Chunk, start: int, room: Chunk) -> Chunk:
    part = slice(start, start + _CHUNK)
    factor_KN = np.ascontiguousarray(chunk.factor_KN[:, part])
    return room._replace(gap_N=chunk.gap_N[part], size_N=chunk.size_N[part], factor_KN=factor_KN)


def _describe(report: Mapping[str, Any]) -> list[str]:
    policies = report["policies"]
    # A run before there was one has no figures of a rule by prices.
    all_policies = {**policies, **report.get("priced", {})}
    speeds = [
        (label, *(with_quartiles(policies[policy]["qps"][name], 1e-6) for policy in POLICIES))
        for name, label in _LABELS.items()
    ]
    over = [
        (f"pre-drawn over {_LABELS[name]}", *(with_quartiles(policies[policy]["ratios"][name]) for policy in POLICIES))
        for name in ("simpy", "heap", "bare")
    ]
    return [
        _INTRODUCTION,
        "## Million queries per second of CPU time",
        table(("what", *POLICIES), speeds),
        "## Ratios, round by round",
        table(("ratio", *POLICIES), over),
        "## 1,000 what-ifs of 100,000 queries, seconds of one core",
        _seconds("1,000 what-ifs", "whatifs_s", all_policies),
        "## A command of a million queries, seconds by the clock on the wall",
        _seconds("a command", "commands_s", all_policies),
        "## Goals",
        table(("median", "goal", *POLICIES), [_goal_row(goal, policies) for goal in _GOALS]),
        "## What the figures mean",
        _MEANING,
        "## Remarks",
        _remarks(policies),
    ]


def _goal_row(goal: tuple[str, tuple[str, ...], float, bool], policies: Mapping[str, Any]) -> tuple[str, ...]:
    what, keys, bound, at_least = goal
    found = [reduce(lambda part, key: part[key], keys, policies[policy])["median"] for policy in POLICIES]
    verdicts = ("met" if (value >= bound if at_least else value <= bound) else "missed" for value in found)
    shown = (f"{significant(value)} ({verdict})" for value, verdict in zip(found, verdicts, strict=True))
    return (what, f"{'>=' if at_least else '<='} {significant(bound)}", *shown)


def _seconds(label: str, figure: str, policies: Mapping[str, Any]) -> str:
    return table(("what", *policies), [(label, *(with_quartiles(one[figure]) for one in policies.values()))])


def _remarks(policies: Mapping[str, Any]) -> str:
    lines = [_REFERENCE]
    for policy in POLICIES:
        qps = {name: spread["median"] for name, spread in policies[policy]["qps"].items()}
        totals = qps["predrawn"] / qps["totals"]
        drawing = 1 - qps["full_without_bound"] / qps["predrawn"]
        lines.append(
            f"{policy}: totals take {percent(totals)} of the time of a pre-drawn query, routing and queues the rest, "
            f"{significant((1 - totals) * qps['bare'] / qps['predrawn'])} times the bare loop's; drawing queries and "
            f"exact percentiles take {percent(drawing)} of `simulate()` without its bound."
        )
    return bullets(lines)


# What, where it is in a policy's figures, the goal, and whether it is a least one.
_GOALS = (
    ("queries per core-second, pre-drawn", ("qps", "predrawn"), 25e6, True),
    ("queries per core-second, everything included", ("qps", "full"), 10e6, True),
    ("pre-drawn over SimPy", ("ratios", "simpy"), 50.0, True),
    ("pre-drawn over the bare numba loop", ("ratios", "bare"), 0.5, True),
    ("1,000 what-ifs (s)", ("whatifs_s",), 1.0, False),
    ("a command (s)", ("commands_s",), 1.5, False),
)

BENCHMARK = Benchmark(
    name="simulator_speed", title="Speed of the serving simulator", measure=_measure, describe=_describe
)

if __name__ == "__main__":
    main(BENCHMARK)
