"""A plan whose latency tables are as far off as their error bars allow."""

import warnings
from dataclasses import replace

from serving_sim.plan import LatencyTable, Path, Plan

__all__ = ["table_ends", "with_table_errors"]

# `low_ms` and `high_ms` bound 90 %: so many standard errors of the log from the mean.
_SIGMAS_OF_BARS = 1.6448536269514722
_SIGMAS_OF_95 = 1.959963985


def table_ends(plan: Plan) -> tuple[Plan, Plan] | None:
    """The plan at the slow and the fast end of its tables' 95 % interval; None where none has error bars."""
    slow, fast = (with_table_errors(plan, sigmas) for sigmas in (_SIGMAS_OF_95, -_SIGMAS_OF_95))
    return None if slow is None or fast is None else (slow, fast)


def with_table_errors(plan: Plan, sigmas: float) -> Plan | None:
    """The plan with every mean latency so many standard errors up, or down; None where no table has error bars.

    All tables move together, as they do where one cost model or one calibration stands behind them: errors that go
    their own ways cancel in part, so that this is the wider interval of the two. Bars are taken as those of a
    lognormal error, each side for itself.
    """
    paths = tuple(_path(path, sigmas) for path in plan.paths)
    return None if paths == plan.paths else replace(plan, paths=paths)


def _path(path: Path, sigmas: float) -> Path:
    shards = tuple(replace(shard, latency=_table(shard.latency, sigmas)) for shard in path.shards)
    return replace(path, latency=_table(path.latency, sigmas), shards=shards)


def _table(table: LatencyTable, sigmas: float) -> LatencyTable:
    ends = table.high_ms if sigmas > 0 else table.low_ms
    if not ends or not sigmas:
        return table
    factors = [(end / mean) ** (abs(sigmas) / _SIGMAS_OF_BARS) for mean, end in zip(table.mean_ms, ends, strict=True)]
    with warnings.catch_warnings():
        # What the plan as it is was warned of is no news here.
        warnings.simplefilter("ignore")
        return replace(
            table,
            mean_ms=_times(table.mean_ms, factors),
            mean_by_miss_share_ms=tuple(_times(row, factors) for row in table.mean_by_miss_share_ms),
            low_ms=(),
            high_ms=(),
        )


def _times(values: tuple[float, ...], factors: list[float]) -> tuple[float, ...]:
    return tuple(value * factor for value, factor in zip(values, factors, strict=True))
