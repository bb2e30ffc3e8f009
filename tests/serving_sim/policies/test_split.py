from dataclasses import replace

import numpy as np
import pytest

from profiles.errors import InputError, UnknownNameError
from serving_sim.engine import simulate, trace_run
from serving_sim.plan import Device, LatencyTable, Outage, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.policies import Policy, Split, compile_rule
from serving_sim.testing import PolicyContract, small_plan


class TestSplit(PolicyContract):
    def make(self) -> Policy:
        return Split(mode="proportional")


class TestSplitOfLargeQueriesAlone(PolicyContract):
    def make(self) -> Policy:
        return Split(smallest_part=100)


def two_speeds(size: int = 90, **options: str | int) -> Plan:
    """A device that takes 1 ms a sample, and one that takes 2; queries far apart."""
    return Plan(
        name="two",
        devices=(Device(name="quick"), Device(name="slow")),
        paths=tuple(
            Path(
                name=name,
                representation="table",
                device=name,
                accuracy=accuracy,
                latency=LatencyTable(sizes=(1, 100), mean_ms=(ms, 100 * ms)),
            )
            for name, ms, accuracy in (("quick", 1.0, 0.8), ("slow", 2.0, 0.7))
        ),
        workload=Workload(qps=0.01, sla_ms=1e3, queries=20, sizes=Sizes(distribution="fixed", mean=size)),
        policy=PolicyChoice(name="split", options=dict(options)),
    )


@pytest.mark.parametrize(("mode", "latency_ms"), [("even", 90.0), ("proportional", 60.0)])
def test_a_query_ends_with_its_last_part(mode: str, latency_ms: float) -> None:
    assert trace_run(two_speeds(mode=mode)).latency_ms_N == pytest.approx(np.full(20, latency_ms))


def test_small_queries_take_fewer_paths_the_quickest_first() -> None:
    assert trace_run(two_speeds(size=9, smallest_part=5)).latency_ms_N == pytest.approx(np.full(20, 9.0))


def test_a_query_counts_with_its_least_accurate_part() -> None:
    result = simulate(two_speeds())
    assert result.accuracy == pytest.approx(0.7)


@pytest.mark.parametrize(("mode", "quick"), [("even", 45), ("proportional", 60)])
def test_shares_are_of_the_samples_that_each_path_served(mode: str, quick: int) -> None:
    result = simulate(two_speeds(mode=mode))
    assert result.path_share_of == "samples"
    assert result.path_share == pytest.approx({"quick": quick / 90, "slow": 1 - quick / 90})
    # 20 queries of 90 samples, none of which warms up.
    by_path = {path: sum(counts) for path, counts in result.path_share_by_size.items()}
    assert by_path == {"quick": 20 * quick, "slow": 20 * (90 - quick)}
    assert any("shares are of samples" in note for note in result.notes)


def test_a_device_that_is_down_has_no_part() -> None:
    plan = two_speeds(mode="even")
    down = replace(plan.devices[1], outages=(Outage(start_s=0.0, end_s=1e7),))
    traced = trace_run(replace(plan, devices=(plan.devices[0], down)))
    assert traced.latency_ms_N == pytest.approx(np.full(20, 90.0))


def test_each_device_has_its_quickest_path_of_the_representation() -> None:
    plan = small_plan()
    names = [plan.paths[place].name for place in compile_rule(Split(representation="hybrid"), plan).path_E]
    assert names == ["hybrid-gpu", "hybrid-cpu"]


def test_options_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="mode"):
        Split(mode="odd")
    with pytest.raises(InputError, match="smallest_part"):
        Split(smallest_part=0)
    with pytest.raises(UnknownNameError, match="representation"):
        compile_rule(Split(representation="robe"), small_plan())
