"""Sharding plans: how long they take, how far they are from what no plan beats, and torchrec's planner beside them."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from profiles.units import format_bytes
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, significant, table

__all__ = ["BENCHMARK"]

_ROOT = Path(__file__).parent.parent.parent
_OWN = (("500", 16), ("500", 128), ("1000", 16), ("1000", 128), ("2000", 1024), ("mlperf", 16), ("mlperf", 128))
_BESIDE_TORCHREC = (("500", 16), ("500", 128), ("1000", 16), ("1000", 128), ("mlperf", 16), ("mlperf", 128))
_QUICK_OWN = (("500", 16), ("1000", 128), ("mlperf", 128))
_QUICK_BESIDE = (("mlperf", 16),)
# torchrec's search is ended at its next proposal after so long; what it took until then is a lower bound.
_TIMEOUT_S, _QUICK_TIMEOUT_S = 200, 15

_INTRODUCTION = """\
Table sets ship with the package (`planner/distributed/data`): 500, 1,000 and 2,000 generated tables, and the 26 of
MLPerf's dlrm-v2. Clusters are ZionEX nodes of 8 devices, 512 samples per rank, float32 with row-wise Adagrad. Every
plan is made in a process of its own on one core; seconds are wall time from tables to plan,
enumeration included (the fastest of three), CPU seconds their median, memory is the process's peak."""
_BOUND = """\
The lower bound: the least T for which the units' least work, among options with no shard above T, is at most T per rank
(`planner/distributed/search/lower_bound.py`). Max / mean says only how even a plan is; max / bound how good."""
_BESIDE = f"""\
Both planners on torchrec's own shard costs with its default constants (a V100's) and 40 GiB per device. torchrec's
slowest rank is its own figure (`Perf.total`); ours is the same formulas on our plan, which uses only shards that
torchrec runs. Seconds are of CPU time, ours the median of three runs. torchrec's planner runs with its default
proposers, once, two cases beside each other, each on a core of its own; after {_TIMEOUT_S} s of wall time its search is
ended at its next proposal, and what it took until then (marked >) is less than it would take."""


def _measure(quick: bool) -> Figures:
    own = [
        _case(tables, ranks, "roofline", _run(tables, ranks, "--costs", "roofline", *_repeats(quick)))
        for tables, ranks in (_QUICK_OWN if quick else _OWN)
    ]
    beside = _QUICK_BESIDE if quick else _BESIDE_TORCHREC
    ours = [_run(tables, ranks, "--costs", "torchrec", *_repeats(quick)) for tables, ranks in beside]
    rivals = _rivals(beside, _QUICK_TIMEOUT_S if quick else _TIMEOUT_S)
    pairs = zip(beside, ours, rivals, strict=True)
    return {"cases": [*own, *(_case(*case, "torchrec", {**one, **rival}) for case, one, rival in pairs)]}


def _rivals(cases: Sequence[tuple[str, int]], timeout_s: int) -> list[Figures]:
    """torchrec's plans, those that take longest first, one on each core."""
    cores: SimpleQueue[int] = SimpleQueue()
    count = min(len(cases), os.cpu_count() or 1)
    for core in range(count):
        cores.put(core)

    def planned(case: tuple[str, int]) -> Figures:
        core = cores.get()
        try:
            return _run(*case, "--rival", "--timeout-s", str(timeout_s), "--core", str(core))
        finally:
            cores.put(core)

    order = sorted(cases, key=lambda case: (case[0] != "mlperf", case[1]), reverse=True)
    with ThreadPoolExecutor(max_workers=count) as workers:
        found = dict(zip(order, workers.map(planned, order), strict=True))
    return [found[case] for case in cases]


def _repeats(quick: bool) -> tuple[str, str]:
    return "--repeats", "1" if quick else "3"


def _run(tables: str, ranks: int, *options: str) -> Figures:
    command = [sys.executable, "-m", "tests.benchmarks.sharding_case", tables, str(ranks), *options]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def _case(tables: str, ranks: int, costs: str, figures: Mapping[str, Any]) -> Figures:
    return {
        "tables": 26 if tables == "mlperf" else int(tables),
        "set": tables,
        "ranks": ranks,
        "costs": costs,
        "torchrec_cpu_seconds": None,
        "torchrec_slowest_ms": None,
        **figures,
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    own = [case for case in report["cases"] if case["costs"] == "roofline"]
    beside = [case for case in report["cases"] if case["costs"] == "torchrec"]
    return [
        _INTRODUCTION,
        "## Default costs (the cluster's roofline)",
        _own_table(own),
        _BOUND,
        bullets(_goals(own)),
        "## Beside torchrec's planner",
        _BESIDE,
        _beside_table(beside),
        bullets(_verdicts(beside)),
    ]


def _own_table(cases: Sequence[Mapping[str, Any]]) -> str:
    columns = (
        "tables @ ranks",
        "plan, s",
        "CPU, s",
        "peak memory",
        "slowest, ms",
        "bound, ms",
        "max / bound",
        "max / mean",
    )
    return table(
        columns,
        [
            (
                _name(case),
                significant(case["plan_seconds"]),
                significant(case["plan_cpu_seconds"]),
                format_bytes(case["peak_bytes"]),
                significant(case["slowest_ms"], 4),
                significant(case["lower_bound_ms"], 4),
                f"{case['max_over_lower_bound']:.4f}",
                f"{case['max_over_mean']:.4f}",
            )
            for case in cases
        ],
    )


def _goals(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for case in cases:
        within = {"1000@128": (1.0, None), "2000@1024": (10.0, 10**9)}.get(_name(case))
        if within is not None:
            met = case["plan_seconds"] <= within[0] and (within[1] is None or case["peak_bytes"] <= within[1])
            memory = f" and {format_bytes(within[1])}" if within[1] else ""
            lines.append(f"{_name(case)} planned within {within[0]:g} s{memory}: {_said(met)}")
    gaps = [case["max_over_lower_bound"] - 1 for case in cases if case["set"] in {"500", "1000"}]
    if gaps:
        lines.append(
            f"500 and 1,000 tables within 1.5 % of the bound: {_said(max(gaps) <= 0.015)} (at most {max(gaps):.2%})"
        )
    return lines


def _beside_table(cases: Sequence[Mapping[str, Any]]) -> str:
    columns = (
        "tables @ ranks",
        "ours, CPU s",
        "torchrec, CPU s",
        "times faster",
        "ours, ms",
        "torchrec, ms",
        "bound, ms",
        "torchrec max / mean",
    )
    return table(
        columns,
        [
            (
                _name(case),
                significant(case["plan_cpu_seconds"]),
                f"{_at_least(case)}{significant(case['torchrec_cpu_seconds'])}",
                f"{_at_least(case)}{significant(_times_faster(case))}",
                significant(case["slowest_ms"], 4),
                significant(case["torchrec_slowest_ms"], 4),
                significant(case["lower_bound_ms"], 4),
                f"{case['torchrec_max_over_mean']:.4f}",
            )
            for case in cases
        ],
    )


def _verdicts(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    slower = [_name(case) for case in cases if case["slowest_ms"] > case["torchrec_slowest_ms"] * (1 + 1e-9)]
    large = [case for case in cases if case["set"] in {"500", "1000"}]
    lines = [f"slowest rank no slower than torchrec's everywhere: {_said(not slower)}{_listed(slower)}"]
    if large:
        least = min(map(_times_faster, large))
        lines.append(
            f"planned at least 50 times faster at 500 and 1,000 tables: {_said(least >= 50)} (at least {least:.0f})"
        )
    early = [_name(case) for case in cases if case["torchrec_ended_early"]]
    if early:
        lines.append(f"ended early, so that torchrec's plan might still have improved: {', '.join(early)}")
    return lines


def _times_faster(case: Mapping[str, Any]) -> float:
    return float(case["torchrec_cpu_seconds"] / case["plan_cpu_seconds"])


def _at_least(case: Mapping[str, Any]) -> str:
    return "> " if case["torchrec_ended_early"] else ""


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _name(case: Mapping[str, Any]) -> str:
    return f"{case['set']}@{case['ranks']}"


def _said(met: bool) -> str:
    return "yes" if met else "**no**"


BENCHMARK = Benchmark(name="sharding", title="Sharding plans", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
