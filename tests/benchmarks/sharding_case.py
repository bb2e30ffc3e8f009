"""One sharding plan in a process of its own, on one core; prints its figures as one JSON object."""

import argparse
import json
import os
import resource
import sys
import time
from dataclasses import replace
from statistics import median
from typing import Any

from planner.distributed import Cluster, RooflineCosts, ShardCosts, get_cluster, plan_sharding, shipped_tables
from planner.distributed.interop import TorchrecCosts, plan_with_torchrec

__all__ = ["BATCH_PER_RANK", "cluster_of", "plan_case"]

BATCH_PER_RANK = 512
_DEVICES_PER_NODE = 8
_GIB = 2**30


def cluster_of(costs: str, ranks: int) -> Cluster:
    """ZionEX with so many ranks; under torchrec's costs with all 40 GiB of a device, as its planner counts them."""
    zionex = get_cluster("zionex").with_nodes(ranks // _DEVICES_PER_NODE)
    if costs == "roofline":
        return zionex
    tiers = (replace(tier, bytes=40 * _GIB) if tier.name == "hbm" else tier for tier in zionex.tiers)
    return replace(zionex, tiers=tuple(tiers))


def plan_case(tables: str, ranks: int, costs: str, repeats: int) -> dict[str, Any]:
    """Our plan, which all repeats give alike: wall seconds of the fastest, and the median of their CPU seconds."""
    priced: ShardCosts = RooflineCosts() if costs == "roofline" else TorchrecCosts(constants="torchrec")
    cluster, of = cluster_of(costs, ranks), shipped_tables(tables)
    seconds, cpu_seconds = [], []
    for _ in range(repeats):
        start, cpu_start = time.perf_counter(), time.process_time()
        plan = plan_sharding(of, cluster, batch_per_rank=BATCH_PER_RANK, costs=priced)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    return {
        "plan_seconds": min(seconds),
        "plan_seconds_all": seconds,
        "plan_cpu_seconds": median(cpu_seconds),
        "slowest_ms": plan.slowest_ms,
        "lower_bound_ms": plan.lower_bound_ms,
        "max_over_mean": plan.max_over_mean,
        "max_over_lower_bound": plan.max_over_lower_bound,
        "bound_kind": plan.bound_kind,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def rival_case(tables: str, ranks: int, timeout_s: int | None) -> dict[str, Any]:
    """The plan of torchrec's default planner, on its own constants; its search may end after `timeout_s`."""
    start = time.perf_counter()
    plan = plan_with_torchrec(
        shipped_tables(tables),
        cluster_of("torchrec", ranks),
        batch_per_rank=BATCH_PER_RANK,
        constants="torchrec",
        timeout_s=timeout_s,
        clock=time.process_time,
    )
    seconds = time.perf_counter() - start
    return {
        "torchrec_cpu_seconds": plan.plan_seconds,
        "torchrec_seconds": seconds,
        "torchrec_ended_early": timeout_s is not None and seconds >= timeout_s,
        "torchrec_slowest_ms": plan.slowest_ms,
        "torchrec_max_over_mean": plan.max_over_mean,
        "torchrec_timeout_s": timeout_s,
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sharding_case", description=__doc__)
    parser.add_argument("tables")
    parser.add_argument("ranks", type=int)
    parser.add_argument("--costs", choices=("roofline", "torchrec"), default="roofline")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rival", action="store_true", help="torchrec's planner instead")
    parser.add_argument("--timeout-s", type=int)
    parser.add_argument("--core", type=int, default=0, help="of those that the process may use")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[options.core % len(cores)]})
    if options.rival:
        figures = rival_case(options.tables, options.ranks, options.timeout_s)
    else:
        figures = plan_case(options.tables, options.ranks, options.costs, options.repeats)
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
