from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from profiles.errors import InputError
from serving_sim.paths import Spread, compile_paths, service_ms
from serving_sim.plan import LatencyTable, Shard, Sizes
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


def test_a_maximum_size_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(InputError, match=r"workload\.sizes\.maximum: must be <= 1048576, but got 2000000"):
        compile_paths(small_plan().at(sizes=Sizes(maximum=2_000_000)))


@pytest.mark.parametrize("change", [{"state": "failed"}, {"mtbf_s": 9.0, "repair_s": 1.0}, {"warm_up_s": 1.0}])
def test_what_is_not_simulated_is_refused_by_its_key(change: dict[str, Any]) -> None:
    plan = small_plan()
    with pytest.raises(InputError, match=rf"devices\.cpu\.{next(iter(change))}: is not simulated"):
        compile_paths(replace(plan, devices=(replace(plan.devices[0], **change), plan.devices[1])))
    sharded = replace(plan.paths[0], shards=(Shard(device="gpu", latency=plan.paths[0].latency),))
    with pytest.raises(InputError, match=r"shards: are not simulated"):
        compile_paths(replace(plan, paths=(sharded,)))
