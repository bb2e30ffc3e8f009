import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.search.capacity_estimate import QueryRows, capacity_qps
from profiles.errors import InputError
from serving_sim.capacity import find_capacity
from serving_sim.plan import Device, LatencyTable, Path, Plan, Sizes, Workload


def rows(sla_ms: float = 10.0, percentile: float = 99.0, shares: tuple[float, ...] = (1.0,)) -> QueryRows:
    return QueryRows(share_R=np.array(shares), sla_ms_R=np.full(len(shares), sla_ms), percentile=percentile)


def test_what_is_always_late_has_no_capacity() -> None:
    assert capacity_qps(np.array([[11.0]]), rows()).tolist() == [0.0]


def test_far_from_the_sla_the_whole_device_is_used() -> None:
    assert capacity_qps(np.array([[1e-3]]), rows())[0] == pytest.approx(1e6, rel=0.01)


@given(st.floats(0.1, 8), st.integers(1, 8), st.floats(0, 0.5))
def test_slower_queries_never_have_more_capacity_nor_more_servers_less(ms: float, servers: int, sigma: float) -> None:
    fast, slow = capacity_qps(np.array([[ms], [1.1 * ms]]), rows(), servers=servers, sigma=sigma)
    more = capacity_qps(np.array([[ms]]), rows(), servers=servers + 1, sigma=sigma)[0]
    assert slow <= fast * 1.001
    assert fast <= more * 1.001


@pytest.mark.slow
@pytest.mark.parametrize(("mean_ms", "servers", "sigma"), [(1.0, 1, 0.0), (2.0, 1, 0.3), (4.0, 4, 0.2)])
def test_the_estimate_is_near_what_the_simulator_finds(mean_ms: float, servers: int, sigma: float) -> None:
    table = LatencyTable(
        sizes=(1, 64), mean_ms=(mean_ms, mean_ms), spread="lognormal" if sigma else "none", sigma=sigma
    )
    plan = Plan(
        name="one path",
        devices=(Device(name="cpu", servers=servers),),
        paths=(Path(name="p", device="cpu", representation="table", accuracy=0.8, parameter_bytes=1, latency=table),),
        workload=Workload(qps=100, sla_ms=10, sizes=Sizes(distribution="fixed", mean=16)),
    )
    simulated = find_capacity(plan, ("table-switch",), seeds=3, queries=100_000).policies[0].max_qps
    assert capacity_qps(np.array([[mean_ms]]), rows(), servers=servers, sigma=sigma)[0] == pytest.approx(
        simulated, rel=0.1
    )


def test_rows_without_an_sla_and_impossible_percentiles_are_refused() -> None:
    with pytest.raises(InputError, match="a share and an SLA each"):
        QueryRows(share_R=np.ones(2), sla_ms_R=np.ones(1), percentile=99)
    with pytest.raises(InputError, match=r"percentile must be in \(0, 100\)"):
        rows(percentile=100.0)
