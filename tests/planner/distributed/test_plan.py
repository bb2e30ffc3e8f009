import re
from pathlib import Path
from typing import Any

import pytest

from planner.distributed import Placement, Shard, ShardingPlan, load_sharding_plan, plan_sharding
from profiles.errors import InputError
from tests.planner.distributed.small_clusters import small_cluster, table


def shard(rank: int = 0, rows: tuple[int, int] = (0, 1000), columns: tuple[int, int] = (0, 16), **more: Any) -> Shard:
    return Shard(more.get("table", "t"), rank, *rows, *columns, more.get("tier", "hbm"))


def plan(*shards: Shard, **changes: Any) -> ShardingPlan:
    given: dict[str, Any] = {
        "cluster": small_cluster(),
        "batch_per_rank": 8,
        "placements": (Placement(table=table(), scheme="grid", shards=shards),),
        "rank_ms": (3.0, 1.0),
        "lower_bound_ms": 2.0,
        "bound_kind": "mean",
    }
    return ShardingPlan(**{**given, **changes})


def test_a_plan_says_how_far_it_is_from_balance_and_from_the_bound() -> None:
    one = plan(shard())
    assert (one.slowest_ms, one.max_over_mean, one.max_over_lower_bound) == (3.0, 1.5, 1.5)


def test_bytes_are_counted_by_rank_with_optimizer_state() -> None:
    halves = (shard(rows=(0, 400)), shard(1, rows=(400, 1000)))
    assert plan(*halves).rank_bytes("hbm").tolist() == [400 * 68, 600 * 68]


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    made = plan_sharding([table("a"), table("b", dim=8)], small_cluster(), batch_per_rank=4)
    made.save(tmp_path / "plan.json")
    assert load_sharding_plan(tmp_path / "plan.json") == made


@pytest.mark.parametrize(
    ("shards", "complaint"),
    [
        ((), "must have at least one shard"),
        ((shard(rows=(0, 999)),), "rows must cover 0..1000 exactly once, but got 0..999"),
        ((shard(), shard(1, rows=(999, 1000))), "rows must cover 0..1000 exactly once"),
        ((shard(columns=(0, 8)),), "columns must cover 0..16 exactly once, but got 0..8"),
        ((shard(rows=(0, 0)), shard(1)), "rows must cover 0..1000 exactly once"),
        ((shard(table="other"),), "has shards of other"),
        ((shard(7),), "rank: must be in 0..1, but got 7"),
        ((shard(tier="ssd"),), "tier: unknown name 'ssd'"),
    ],
)
def test_shards_must_hold_the_table_exactly_once(shards: tuple[Shard, ...], complaint: str) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        plan(*shards)


def test_copies_must_be_whole_and_on_different_ranks() -> None:
    with pytest.raises(InputError, match="must be whole"):
        Placement(table=table(), scheme="data_parallel", shards=(shard(), shard(1, rows=(0, 1))))
    with pytest.raises(InputError, match="must lie on different ranks"):
        Placement(table=table(), scheme="data_parallel", shards=(shard(), shard()))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"batch_per_rank": 0}, "batch_per_rank: must be >= 1"),
        ({"rank_ms": (1.0,)}, "rank_ms: must have 2 values, but got 1"),
    ],
)
def test_a_plan_belongs_to_its_cluster(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plan(shard(), **changes)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"schema": "recplan.plan/1"}, "schema: must be 'recplan.sharding/1'"),
        ({"colour": "red"}, "colour: unknown key"),
        ({"batch_per_rank": "many"}, "batch_per_rank: must be a valid integer"),
    ],
)
def test_a_bad_file_names_the_key(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ShardingPlan.from_object({**plan(shard()).to_object(), **changes})


def test_a_placement_is_found_by_name() -> None:
    assert plan(shard(), plan_seconds=1.0).placement("t").ranks == (0,)
    with pytest.raises(InputError, match="unknown name 'u'"):
        plan(shard()).placement("u")
