from dataclasses import replace

import numpy as np
import pytest

from profiles.errors import InputError
from serving_sim.paths import Spread, compile_paths, service_ms
from serving_sim.plan import Ids, LatencyTable, Shard, Sizes
from serving_sim.testing import small_plan


def test_service_time_is_a_power_law_between_entries() -> None:
    table = LatencyTable(sizes=(1, 4, 16), mean_ms=(1.0, 2.0, 8.0))
    np.testing.assert_allclose(service_ms(table, [1, 2, 4, 8, 16]), [1.0, 2**0.5, 2.0, 4.0, 8.0])


def test_service_time_goes_on_at_the_last_slope_and_stays_below_the_first_entry() -> None:
    table = LatencyTable(sizes=(4, 16), mean_ms=(2.0, 4.0))
    np.testing.assert_allclose(service_ms(table, [1, 64]), [2.0, 8.0])


def test_a_single_entry_grows_in_proportion() -> None:
    np.testing.assert_allclose(service_ms(LatencyTable(sizes=(10,), mean_ms=(2.0,)), [1, 10, 30]), [2.0, 2.0, 6.0])


@pytest.mark.filterwarnings("ignore:mean_ms decreases")
def test_a_falling_last_segment_is_not_carried_on() -> None:
    np.testing.assert_allclose(service_ms(LatencyTable(sizes=(1, 2), mean_ms=(2.0, 1.0)), [8]), [1.0])


def test_paths_compile_to_arrays_over_every_size() -> None:
    tables = compile_paths(small_plan())
    assert tables.arrays.service_ms_SP.shape == (4097, 6)
    assert tables.arrays.device_P.tolist() == [0, 0, 0, 1, 1, 1]
    assert tables.arrays.servers_D.tolist() == [2, 1]
    assert tables.spreads == (Spread(),)
    np.testing.assert_allclose(tables.arrays.service_ms_SP[128, 0], 0.9)


def test_a_log_of_ids_that_is_not_there_is_refused_though_no_cache_looks_into_it() -> None:
    plan = small_plan()
    ids = Ids(kind="log", source="nowhere.txt")
    with pytest.raises(InputError, match=r"^workload\.ids\.source: must be 'scarab' or a log file, but there is no"):
        compile_paths(replace(plan, workload=replace(plan.workload, ids=ids)))


def test_a_maximum_size_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(InputError, match=r"workload\.sizes\.maximum: must be <= 1048576, but got 2000000"):
        compile_paths(small_plan().at(sizes=Sizes(maximum=2_000_000)))


def test_a_path_that_needs_a_failed_device_takes_forever() -> None:
    plan = small_plan()
    sharded = replace(plan.paths[0], shards=(Shard(device="gpu", latency=plan.paths[0].latency),))
    failed = replace(plan.devices[1], state="failed")
    tables = compile_paths(replace(plan, devices=(plan.devices[0], failed), paths=(sharded, *plan.paths[1:])))
    assert np.isinf(tables.arrays.service_ms_SP[1:]).all(axis=0).tolist() == [True, False, False, True, True, True]


def test_each_shard_scatters_by_draws_of_its_own() -> None:
    table = LatencyTable(sizes=(1,), mean_ms=(1.0,), spread="exponential")
    plan = small_plan()
    shards = (Shard(device="gpu", latency=table), Shard(device="cpu", latency=table))
    spreads = compile_paths(replace(plan, paths=(replace(plan.paths[0], shards=shards),))).spreads
    assert [spread.draw for spread in spreads] == [0, 1, 2]
