"""What differs between two plans, table by table, and between two iterations, phase by phase."""

from collections import Counter
from typing import Any

from planner.distributed.iteration.iteration_time import IterationTime
from planner.distributed.plan import Placement, Shard, ShardingPlan

__all__ = ["difference_of_phases", "difference_of_plans"]

Rows = list[dict[str, Any]]


def difference_of_plans(before: ShardingPlan, after: ShardingPlan) -> Rows:
    """Tables that are not placed alike, most bytes to move first.

    `table, change (added, removed, moved), scheme, new_scheme, ranks, new_ranks, tiers, new_tiers, moved_bytes`; moved
    bytes, weights and optimizer state, are those that must come to a rank which did not hold them, or to another tier.
    """
    old = {one.table.name: one for one in before.placements}
    new = {one.table.name: one for one in after.placements}
    rows = []
    for name in dict.fromkeys((*old, *new)):
        first, second = old.get(name), new.get(name)
        if first and second and Counter(first.shards) == Counter(second.shards) and first.scheme == second.scheme:
            continue
        change = "moved" if first and second else "added" if second else "removed"
        rows.append(
            {
                "table": name,
                "change": change,
                "scheme": first.scheme if first else None,
                "new_scheme": second.scheme if second else None,
                "ranks": len(first.ranks) if first else 0,
                "new_ranks": len(second.ranks) if second else 0,
                "tiers": _tiers(first),
                "new_tiers": _tiers(second),
                "moved_bytes": _moved_bytes(first, second),
            }
        )
    return sorted(rows, key=lambda row: -row["moved_bytes"])


def difference_of_phases(before: IterationTime, after: IterationTime) -> Rows:
    """`name, before_ms, after_ms, change_ms, critical_change_ms` of the longest rank; 0 where there is none."""
    names = dict.fromkeys(phase.name for time in (before, after) for phase in time.phases)
    rows = []
    for name in names:
        old, new = before.phase(name), after.phase(name)
        old_ms, new_ms = old.max_ms if old else 0.0, new.max_ms if new else 0.0
        rows.append(
            {
                "name": name,
                "before_ms": old_ms,
                "after_ms": new_ms,
                "change_ms": new_ms - old_ms,
                "critical_change_ms": (new.critical_ms if new else 0.0) - (old.critical_ms if old else 0.0),
            }
        )
    return rows


def _tiers(placement: Placement | None) -> str:
    return ", ".join(sorted({shard.tier for shard in placement.shards})) if placement else ""


def _moved_bytes(before: Placement | None, after: Placement | None) -> int:
    if after is None:
        return 0
    held = before.shards if before else ()
    moved = 0
    for shard in after.shards:
        kept = sum(_common_bytes(after, shard, old) for old in held)
        moved += max(0, after.table.piece_bytes(shard.rows, shard.columns) - kept)
    return moved


def _common_bytes(placement: Placement, new: Shard, old: Shard) -> int:
    if (new.rank, new.tier) != (old.rank, old.tier):
        return 0
    rows = min(new.row_stop, old.row_stop) - max(new.row_start, old.row_start)
    columns = min(new.column_stop, old.column_stop) - max(new.column_start, old.column_start)
    return placement.table.piece_bytes(rows, columns) if rows > 0 and columns > 0 else 0
