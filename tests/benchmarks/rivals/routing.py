"""The scenario of a serving run as plain Python numbers, and the choice of a path in plain Python.

Devices have one server each. The rule is the simulator's `Rule` (see `serving_sim.kernels`), entry by entry.
"""

from dataclasses import dataclass
from itertools import accumulate

from serving_sim.kernels import Chunk, PathArrays, Rule

__all__ = ["Entry", "Scenario", "choose", "scenario_of"]

# Path, device, tier, limit in ms, least samples per ms.
Entry = tuple[int, int, int, float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """Queries by arrival time (ms), size and service factor; mean service times (ms) by size and path; the rule."""

    arrivals_ms: list[float]
    sizes: list[int]
    factors: list[float]
    service_ms: list[list[float]]
    device_of_path: list[int]
    devices: int
    entries: list[Entry]


def scenario_of(chunk: Chunk, queries: int, gap_ms: float, paths: PathArrays, rule: Rule) -> Scenario:
    """The first queries of a chunk whose paths all share one spread."""
    device_of_path = paths.device_P.tolist()
    columns = (rule.path_E, rule.tier_E, rule.limit_ms_CE[0], rule.rate_per_ms_E)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return Scenario(
        arrivals_ms=list(accumulate((chunk.gap_N[:queries] * gap_ms).tolist())),
        sizes=chunk.size_N[:queries].tolist(),
        factors=chunk.factor_KN[0, :queries].tolist(),
        service_ms=paths.service_ms_SP.tolist(),
        device_of_path=device_of_path,
        devices=len(paths.servers_D),
        entries=[(path, device_of_path[path], tier, limit, rate) for path, tier, limit, rate in rows],
    )


def choose(
    entries: list[Entry], size: int, now_ms: float, free_at_ms: list[float], service_ms: list[float]
) -> tuple[int, int]:
    """Path and device: the earliest completion in the first tier that has an entry which passes."""
    best, best_ms, best_tier = (entries[-1][0], entries[-1][1]), float("inf"), -1
    for path, device, tier, limit_ms, rate_per_ms in entries:
        if tier != best_tier and best_tier >= 0:
            break
        taken_ms = service_ms[path]
        wait_ms = free_at_ms[device] - now_ms
        latency_ms = taken_ms + wait_ms if wait_ms > 0 else taken_ms
        if latency_ms < best_ms and latency_ms <= limit_ms and size >= rate_per_ms * taken_ms:
            best, best_ms, best_tier = (path, device), latency_ms, tier
    return best
