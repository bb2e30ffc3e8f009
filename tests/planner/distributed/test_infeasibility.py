import pickle

import pytest

from planner.distributed import InfeasiblePlanError, TableConstraint, plan_sharding
from planner.distributed.interop import TorchrecCosts
from tests.planner.distributed.small_clusters import small_cluster, table


def refusal(*args: object, **options: object) -> InfeasiblePlanError:
    with pytest.raises(InfeasiblePlanError) as caught:
        plan_sharding(*args, batch_per_rank=8, **options)  # type: ignore[arg-type]
    return caught.value


def test_a_table_larger_than_the_cluster_is_named_with_the_shortage() -> None:
    error = refusal([table("small"), table("huge", rows=10**6)], small_cluster(1, 2, hbm_bytes=10**7))
    assert error.tables == ("huge",)
    assert error.shortage_bytes == 68 * 10**6 - 2 * 10**7
    assert f"{error.shortage_bytes:,} bytes" in str(error)


def test_the_smallest_change_comes_first_and_works() -> None:
    tables = [table("a", rows=10**5), table("b", rows=10**5)]
    error = refusal(tables, small_cluster(2, 2, hbm_bytes=3_300_000))
    assert "the smallest change that would fit" in str(error)
    assert error.changes[0].startswith(("3.4", "3.41", "dtype float16 for"))
    assert any("3 nodes instead of 2" in change for change in error.changes)
    plan_sharding(tables, small_cluster(3, 2, hbm_bytes=3_300_000), batch_per_rank=8)


def test_what_is_reserved_is_said_and_counted_in_the_memory_that_would_fit() -> None:
    tables = [table("a", rows=10**5), table("b", rows=10**5)]
    error = refusal(tables, small_cluster(2, 2, hbm_bytes=3_400_000), reserved_bytes=100_000)
    assert "beside 100 kB of hbm a device for layers, activations and buffers" in str(error)
    more = next(change for change in error.changes if "of hbm per device instead of 3.4 MB" in change)
    enough = int(more.split("(")[1].split(" bytes")[0].replace(",", ""))
    plan_sharding(tables, small_cluster(2, 2, hbm_bytes=enough), batch_per_rank=8, reserved_bytes=100_000)


def test_a_constraint_that_stands_in_the_way_is_named() -> None:
    pinned = TableConstraint(table="a", schemes=("table_wise",))
    error = refusal([table("a", rows=10**5)], small_cluster(1, 4, hbm_bytes=4_000_000), constraints=[pinned])
    assert error.tables == ("a",)
    assert error.shortage_bytes == 68 * 10**5 - 4_000_000
    assert error.changes[0] == "giving up the constraint on a: schemes=('table_wise',)"


def test_tables_pinned_to_one_rank_are_short_there() -> None:
    tables = [table(f"t{index}", rows=10**4) for index in range(3)]
    pinned = [TableConstraint(table="t*", ranks=(1,))]
    error = refusal(tables, small_cluster(1, 4, hbm_bytes=1_500_000), constraints=pinned)
    assert error.shortage_bytes == 3 * 680_000 - 1_500_000
    assert "on 1 ranks" in str(error)


def test_a_tier_that_tables_are_kept_to_is_named() -> None:
    error = refusal(
        [table("a", rows=60_000), table("b", rows=40_000)],
        small_cluster(1, 2, hbm_bytes=3_000_000, ddr_bytes=10**8),
        constraints=[TableConstraint(table="*", tiers=("hbm",))],
    )
    assert (error.tables, error.shortage_bytes) == (("a",), 800_000)
    assert "of hbm on 2 ranks" in str(error)


def test_shards_that_cannot_be_packed_are_named() -> None:
    tables = [table(f"t{index}", rows=10**4) for index in range(3)]
    error = refusal(
        tables,
        small_cluster(1, 2, hbm_bytes=1_100_000),
        constraints=[TableConstraint(table="*", schemes=("table_wise",))],
    )
    assert "no way was found to place all shards" in str(error)
    assert error.shortage_bytes == 2 * 680_000 - 1_100_000


def test_lighter_optimizers_are_a_way_out() -> None:
    error = refusal([table("a", rows=10**5, optimizer="adam")], small_cluster(1, 2, hbm_bytes=4_000_000))
    assert any(change.startswith("optimizer rowwise_adagrad for a") for change in error.changes)


def test_costs_from_elsewhere_are_only_asked_about_memory_and_constraints() -> None:
    error = refusal([table("a", rows=10**5)], small_cluster(1, 2, hbm_bytes=3_000_000), costs=TorchrecCosts())
    assert error.changes
    assert all("per device" in change for change in error.changes)


def test_the_error_survives_pickling() -> None:
    error = InfeasiblePlanError("no", tables=("a",), shortage_bytes=3, changes=("b",))
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, InfeasiblePlanError)
    assert (str(again), again.tables, again.shortage_bytes, again.changes) == ("no", ("a",), 3, ("b",))
