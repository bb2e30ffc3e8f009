from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.mapping.candidate import TrainedCandidate
from planner.mapping.exact import best_mapping, least_memory_bytes, value_of
from planner.mapping.fluid_program import FluidProgram, build_program
from planner.mapping.mapped_plan import mapped_plan
from planner.mapping.memory_steps import memory_steps
from planner.study.device import DeviceSection
from profiles.errors import InfeasibleError, UnknownNameError
from representations.components import work_of
from serving_sim.fluid_bound import FluidRows, best_prices, bound_at
from serving_sim.paths import compile_paths
from serving_sim.plan import QueryClass
from tests.planner.mapping.pools import (
    WORKLOAD,
    cost_model,
    device,
    dhes,
    hybrids,
    large_base,
    tables,
    tiny_base,
)

TINY = tiny_base()
POOL = (tables(TINY, 8, 0.78), tables(TINY, 4, 0.77), dhes(TINY, 8, 0.785, 64), hybrids(TINY, 8, 0.79, 64))
# More than two such devices serve in time with the best path.
BUSY = replace(WORKLOAD, qps=40_000.0, sla_ms=5.0)


def program(*devices: DeviceSection, pool: tuple[TrainedCandidate, ...] = POOL, qps: float = 40_000.0) -> FluidProgram:
    return build_program(pool, devices, cost_model(), replace(BUSY, qps=qps))


def subsets(names: list[str]) -> list[tuple[str, ...]]:
    return [some for count in range(len(names) + 1) for some in combinations(names, count)]


@settings(deadline=None, max_examples=4)
@given(cpu=st.integers(100_000, 1_200_000), gpu=st.integers(400_000, 1_500_000), qps=st.floats(1_000, 200_000))
def test_no_choice_within_the_budgets_serves_more(cpu: int, gpu: int, qps: float) -> None:
    asked = program(device("cpu", f"{cpu} B"), device("gpu", f"{gpu} B"), pool=POOL[:3], qps=qps)
    sizes = {one.name: one.parameter_bytes for one in asked.candidates}
    choices = [
        {"cpu": on_cpu, "gpu": on_gpu}
        for on_cpu, on_gpu in product(subsets(list(sizes)), repeat=2)
        if sum(sizes[one] for one in on_cpu) <= cpu and sum(sizes[one] for one in on_gpu) <= gpu
    ]
    best = max(value_of(asked, choice).correct_per_s for choice in choices)
    found = best_mapping(asked)
    assert found.correct_per_s == pytest.approx(best, rel=1e-4)
    assert found.bound_per_s >= best * (1 - 1e-6)
    assert found.bytes_on("cpu") <= cpu
    assert found.bytes_on("gpu") <= gpu


@pytest.mark.parametrize("qps", [1_000.0, 40_000.0, 400_000.0])
def test_what_a_choice_serves_is_the_simulators_fluid_bound(qps: float) -> None:
    asked = program(device("cpu", "1 GB"), device("gpu", "1 GB"), qps=qps)
    value = value_of(asked, {"cpu": ["table-8", "dhe-8-k64"], "gpu": ["hybrid-8-k64"]})
    by_name = {one.name: one for one in POOL}
    held = {name: [by_name[one] for one in chosen] for name, chosen in value.chosen.items()}
    plan = mapped_plan(held, asked.devices, cost_model(), replace(BUSY, qps=qps))
    arrays, demand = compile_paths(plan).arrays, asked.demand
    services = [
        np.interp(demand.size_R, np.arange(len(arrays.service_ms_SP)), arrays.service_ms_SP[:, path])
        for path in range(len(plan.paths))
    ]
    rows = FluidRows(
        weight_R=demand.rate_per_ms_R,
        worth_RP=np.outer(demand.size_R, arrays.accuracy_P),
        service_ms_RP=np.stack(services, axis=1),
        paths=arrays,
    )
    servers_D = arrays.servers_D.astype(float)
    prices_D = best_prices(rows, BUSY.sla_ms, servers_D)
    bound_per_ms, _ = bound_at(rows.within(BUSY.sla_ms), prices_D, servers_D)
    assert value.correct_per_s == pytest.approx(1000 * bound_per_ms, rel=2e-3)


def test_at_a_low_load_the_most_accurate_path_that_fits_is_enough() -> None:
    found = best_mapping(program(device("gpu", "1 GB"), qps=10.0))
    assert found.chosen == {"gpu": ("hybrid-8-k64",)}
    assert found.served_share == pytest.approx(1.0)
    assert found.accuracy == pytest.approx(0.79)


def test_nothing_is_held_that_serves_nothing() -> None:
    both = (device("cpu", "1 GB"), device("gpu", "1 GB"))
    assert len(best_mapping(program(*both, qps=10.0)).shares) == 1


def test_twice_the_servers_hold_twice_the_load() -> None:
    two = DeviceSection(name="gpu", kind="v100", memory="1 GB", servers=2)
    one = best_mapping(program(device("gpu", "1 GB"), qps=40_000.0)).correct_per_s
    assert best_mapping(program(two, qps=80_000.0)).correct_per_s == pytest.approx(2 * one, rel=1e-4)


def test_a_class_that_no_path_is_fast_enough_for_is_left_out() -> None:
    classes = (QueryClass(name="now", share=0.25, sla_ms=1e-6), QueryClass(name="soon", share=0.75, sla_ms=50.0))
    asked = build_program(POOL, (device("gpu", "1 GB"),), cost_model(), replace(BUSY, qps=10.0, classes=classes))
    assert best_mapping(asked).served_share == pytest.approx(0.75)


def test_what_stays_on_chip_is_priced_so() -> None:
    ipu = DeviceSection(name="ipu", kind="ipu-gc200")
    here = CostModel(models={"ipu": RooflineDeviceModel(hardware=ipu.hardware, work=work_of)})
    pool = (tables(large_base(), 16), hybrids(large_base(), 16))
    asked = build_program(pool, (ipu,), here, replace(WORKLOAD, qps=20_000.0))
    both = value_of(asked, {"ipu": ["table-16", "hybrid-16-k1024"]})
    alone = value_of(asked, {"ipu": ["table-16"]})
    assert both.bytes_on("ipu") > ipu.hardware.on_chip_bytes > alone.bytes_on("ipu")
    assert alone.shares[0].time_share < both.shares[1].time_share + both.shares[0].time_share
    best = best_mapping(asked)
    assert best.correct_per_s >= max(both.correct_per_s, alone.correct_per_s) * (1 - 1e-4)


def test_more_memory_is_asked_for_by_the_byte() -> None:
    small, large = POOL[1], POOL[3]
    gpu = DeviceSection(name="gpu", kind="v100", memory=small.parameter_bytes)
    asked = program(gpu, pool=(small, large), qps=10.0)
    best = best_mapping(asked)
    (step,) = memory_steps(asked, "gpu", best)
    assert step.memory_bytes == large.parameter_bytes
    assert step.extra_bytes == large.parameter_bytes - small.parameter_bytes
    assert step.candidates == (large.name,)
    assert step.gain == pytest.approx(0.79 / 0.77 - 1, rel=1e-4)
    assert least_memory_bytes(asked, "gpu", 10 * best.correct_per_s) is None


def test_memory_that_is_enough_has_no_further_step() -> None:
    asked = program(device("gpu", "1 GB"), qps=10.0)
    assert memory_steps(asked, "gpu", best_mapping(asked)) == ()


def test_what_is_short_is_said_by_device() -> None:
    asked = program(device("cpu", "1 kB"), device("gpu", "20 B"))
    smallest = min(one.parameter_bytes for one in POOL)
    with pytest.raises(InfeasibleError, match=rf"cpu 1,000 bytes, gpu 20 bytes\).*: {smallest - 1000:,} too many"):
        best_mapping(asked)
    assert best_mapping(asked, {"gpu": 10**9}).chosen["cpu"] == ()


def test_unknown_names_are_named() -> None:
    asked = program(device("gpu", "1 GB"))
    with pytest.raises(UnknownNameError, match="candidate"):
        value_of(asked, {"gpu": ["table-9"]})
    with pytest.raises(UnknownNameError, match="device"):
        value_of(asked, {"tpu": ["table-8"]})
