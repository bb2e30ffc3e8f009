import pytest

from planner.distributed.interop import export_plan, parameter_constraints, torchrec_plan
from profiles.errors import InputError
from tests.planner.distributed.interop.small_plans import placed, plan_of, small_cluster

EXPORT = export_plan(
    plan_of(
        small_cluster(2, 2, "dgx-h100"),
        placed("a", "table_wise", 10, 8, (3, 0, 10, 0, 8), tier="hbm"),
        placed("b", "column_wise", 10, 16, (3, 0, 10, 0, 4), (0, 0, 10, 4, 16), tier="ddr"),
        placed("c", "data_parallel", 5, 8, *[(rank, 0, 5, 0, 8) for rank in range(4)], tier="hbm"),
    )
)


def test_shards_say_where_they_lie() -> None:
    plan = torchrec_plan(EXPORT, "sparse").plan["sparse"]
    shards = plan["b"].sharding_spec.shards
    assert [(one.shard_offsets, one.shard_sizes) for one in shards] == [([0, 0], [10, 4]), ([0, 4], [10, 12])]
    assert [str(one.placement) for one in shards] == ["rank:3/cuda:1", "rank:0/cuda:0"]
    assert (plan["c"].sharding_spec, plan["c"].ranks, plan["c"].compute_kernel) == (None, [0, 1, 2, 3], "dense")


def test_tables_of_two_modules_are_planned_apart() -> None:
    plan = torchrec_plan(EXPORT, {"a": "user", "b": "item", "c": "item"}).plan
    assert {path: sorted(tables) for path, tables in plan.items()} == {"user": ["a"], "item": ["b", "c"]}
    with pytest.raises(InputError, match="differ in c, d"):
        torchrec_plan(EXPORT, {"a": "user", "b": "item", "d": "item"})


def test_a_cache_is_for_tables_in_host_memory() -> None:
    plan = torchrec_plan(EXPORT, cache_load_factor=0.1).plan[""]
    assert [plan[name].compute_kernel for name in "abc"] == ["fused", "fused_uvm_caching", "dense"]
    assert plan["b"].cache_params.load_factor == 0.1
    with pytest.raises(InputError, match=r"cache_load_factor: must be in \(0, 1\], but got 2"):
        torchrec_plan(EXPORT, cache_load_factor=2)


def test_constraints_ask_torchrec_s_planner_for_the_same_schemes() -> None:
    wanted = parameter_constraints(EXPORT)
    assert wanted["b"].sharding_types == ["column_wise"]
    assert (wanted["b"].min_partition, wanted["a"].min_partition) == (4, None)
    assert wanted["a"].pooling_factors == [3.0]
