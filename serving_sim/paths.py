"""Paths as the kernels read them: one service time per path and size, looked up.

Between a table's sizes, time is interpolated linearly in log size and log time. Above the last size it goes on at the
last segment's slope (0 at least; a single entry grows in proportion to size), below the first it stays; both are
counted. The host's part of a query comes on top. A path with a cache has the service at its expected share of misses,
and a spread that turns it into that of each query's own share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.errors import InputError
from serving_sim.ids import hit_rate, require_log
from serving_sim.kernels import SIGMA, PathArrays
from serving_sim.misses import MissEffect, Misses
from serving_sim.plan import Cache, LatencyTable, Path, Plan
from serving_sim.reliability import closed_paths

__all__ = ["LARGEST_SIZE", "PathTables", "Spread", "compile_paths", "conditions_of", "service_ms", "shard_spreads"]

LARGEST_SIZE = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """How single service times scatter about the mean: a factor of mean 1, times the effect of a cache's misses.

    Spreads of one `draw` take the same draws: those of all paths are 0, each shard has its own.
    """

    kind: str = "none"
    sigma: float = 0.0
    effect: MissEffect | None = None
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PathTables:
    """A plan's paths compiled: arrays for the kernels, and the distinct spreads that their rows of factors follow."""

    arrays: PathArrays
    spreads: tuple[Spread, ...]


def service_ms(
    table: LatencyTable, sizes: Sequence[float] | NDArray[Any], mean_ms: tuple[float, ...] = ()
) -> NDArray[np.float64]:
    """Mean service time (ms) at each size, all of them >= 1; `mean_ms` stands in for the table's.

    Raises:
        InputError: the table rises so steeply that a size beyond its own has no finite time.
    """
    log_sizes = np.log(np.asarray(sizes, dtype=np.float64))
    knots, values = np.log(np.array(table.sizes, dtype=np.float64)), np.log(np.array(mean_ms or table.mean_ms))
    slope = max(0.0, (values[-1] - values[-2]) / (knots[-1] - knots[-2])) if len(knots) > 1 else 1.0
    beyond = np.maximum(log_sizes - knots[-1], 0.0) * slope
    with np.errstate(over="ignore"):
        times: NDArray[np.float64] = np.exp(np.interp(log_sizes, knots, values) + beyond)
    if not np.isfinite(times).all():
        raise InputError(
            f"latency.mean_ms: rises so steeply up to size {table.sizes[-1]} that {np.max(sizes)} samples have no "
            "finite time; measure larger sizes, or allow fewer samples"
        )
    return times


def compile_paths(plan: Plan, *, largest: int = 0) -> PathTables:
    """The plan's paths and devices as arrays, for sizes up to the workload's maximum, and up to `largest`.

    A path that needs a device which failed takes infinitely long.

    Raises:
        InputError: the maximum is above 2^20 samples, or the workload's log of ids is not there.
    """
    require_log(plan.workload.ids)
    maximum = max(plan.workload.largest_size, largest)
    if maximum > LARGEST_SIZE:
        raise InputError(f"workload.sizes.maximum: must be <= {LARGEST_SIZE}, but got {maximum}")
    sizes = np.arange(1, maximum + 1, dtype=np.int64)
    service_ms_SP = np.zeros((maximum + 1, len(plan.paths)))
    closed = closed_paths(plan)
    misses = {cache.name: _misses(cache, plan) for cache in plan.caches}
    effects = [_effect(path, misses, sizes) for path in plan.paths]
    spread_of = [_spread(path, effect) for path, effect in zip(plan.paths, effects, strict=True)]
    spreads = tuple(dict.fromkeys([*spread_of, *shard_spreads(plan)]))
    for column, (path, effect) in enumerate(zip(plan.paths, effects, strict=True)):
        service_ms_SP[1:, column] = (
            path.host_ms + service_ms(path.latency, sizes) if effect is None else effect.expected_ms_S[1:]
        )
    service_ms_SP[1:, [path.name in closed for path in plan.paths]] = np.inf
    arrays = PathArrays(
        service_ms_SP=service_ms_SP,
        device_P=_integers([plan.device_of(path) for path in plan.paths]),
        spread_P=_integers([spreads.index(spread) for spread in spread_of]),
        accuracy_P=np.array([_expected_accuracy(path, misses) for path in plan.paths], dtype=np.float64),
        first_size_P=_integers([path.latency.sizes[0] for path in plan.paths]),
        last_size_P=_integers([path.latency.sizes[-1] for path in plan.paths]),
        servers_D=_integers([device.servers for device in plan.devices]),
        uncertain_D=_integers([_is_uncertain(plan, device.name) for device in plan.devices]),
        conditions_PF=conditions_of([path.latency for path in plan.paths]),
    )
    return PathTables(arrays=arrays, spreads=spreads)


def _misses(cache: Cache, plan: Plan) -> Misses:
    return Misses(cache=cache.name, features=cache.features, hit_rate=hit_rate(cache, plan.workload.ids))


def _effect(path: Path, misses: Mapping[str, Misses], sizes: NDArray[np.int64]) -> MissEffect | None:
    table = path.latency
    if not table.miss_shares:
        return None
    shares_M, own = np.array(table.miss_shares), misses[path.cache]
    service_ms_SM = np.zeros((len(sizes) + 1, len(shares_M)))
    for column, row in enumerate(table.mean_by_miss_share_ms):
        service_ms_SM[1:, column] = path.host_ms + service_ms(table, sizes, row)
    weight_M = np.array([np.interp(1 - own.hit_rate, shares_M, unit_M) for unit_M in np.eye(len(shares_M))])
    expected_ms_S = service_ms_SM @ weight_M
    return MissEffect(misses=own, shares_M=shares_M, service_ms_SM=service_ms_SM, expected_ms_S=expected_ms_S)


def _expected_accuracy(path: Path, misses: Mapping[str, Misses]) -> float:
    """The mean over what hits and what misses."""
    if not path.cache:
        return path.accuracy
    hit = path.accuracy if path.accuracy_on_hit is None else path.accuracy_on_hit
    miss = path.accuracy if path.accuracy_on_miss is None else path.accuracy_on_miss
    rate = misses[path.cache].hit_rate
    return rate * hit + (1 - rate) * miss


def _is_uncertain(plan: Plan, device: str) -> bool:
    tables = [path.latency for path in plan.paths if path.device == device]
    return any(table.spread != "none" or table.miss_shares or table.idle_gap for table in tables)


def conditions_of(latencies: Sequence[LatencyTable]) -> NDArray[np.float64]:
    """The rows of `conditions_PF`; none where service depends neither on idleness nor on the query before."""
    rows = []
    for latency in latencies:
        gap, correlation = latency.idle_gap, latency.correlation if latency.sigma else 0.0
        idle = (gap.after_ms, gap.factor, gap.added_ms) if gap else (np.inf, 1.0, 0.0)
        rows.append((*idle, correlation, latency.sigma))
    is_none = all(np.isinf(after_ms) and not correlation for after_ms, _, _, correlation, _ in rows)
    return np.array([] if is_none else rows, dtype=np.float64).reshape(-1, 1 + SIGMA)


def _spread(path: Path, effect: MissEffect | None) -> Spread:
    kind = path.latency.spread
    return Spread(kind=kind, sigma=path.latency.sigma if kind == "lognormal" else 0.0, effect=effect)


def shard_spreads(plan: Plan) -> list[Spread]:
    """The spread of each shard, those of the first path first."""
    tables = [shard.latency for path in plan.paths for shard in path.shards]
    return [
        Spread(kind=table.spread, sigma=table.sigma, draw=1 + place) if table.spread != "none" else Spread()
        for place, table in enumerate(tables)
    ]


def _integers(values: Sequence[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
