from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.memory import forward_memory
from planner.search.capacity_estimate import QueryRows
from planner.search.cost_columns import COSTS, CostColumns, JudgedDevice, ServedLoad
from planner.search.space_columns import SpaceModels
from planner.study import SpaceSection
from profiles.errors import InputError
from tests.planner.search.grouped import make_cost_model, make_pricer, make_space


def test_costs_by_column_are_those_of_the_cost_model() -> None:
    space, price = make_space(), make_pricer("peak_memory_bytes", "energy_j", "latency_p99_ms", "memory_share")
    columns = SpaceModels(space=space).columns(space.all_codes())
    costs = price(columns)
    assert set(costs) == {*COSTS, "peak_memory_bytes", "energy_j", "latency_p99_ms", "memory_share"}
    for place in range(len(columns)):
        model = columns.candidates.model(place)
        predicted = make_cost_model().predict_model(model, (64,), "v100")
        assert costs["latency_ms"][place] == pytest.approx(float(predicted.mean_ms[0]))
        assert costs["parameter_bytes"][place] == model.parameter_bytes
        assert costs["peak_memory_bytes"][place] == forward_memory(model, 64).peak_bytes
        assert costs["memory_share"][place] == model.parameter_bytes / 10**6
        assert predicted.energy_j is not None
        assert costs["energy_j"][place] == pytest.approx(float(predicted.energy_j[0]))
    # Nobody measured this device, so nothing is known of how single queries scatter.
    assert np.array_equal(costs["latency_p99_ms"], costs["latency_ms"])


def test_a_million_samples_cost_the_device_s_price_while_it_is_busy() -> None:
    space, price = make_space(), make_pricer("cost_per_million", price_per_hour=3.6)
    costs = price(SpaceModels(space=space).columns(space.all_codes()))
    assert np.allclose(costs["cost_per_million"], costs["latency_ms"] / 64)


def test_candidates_are_judged_on_their_own_device_and_batch() -> None:
    space = make_space(SpaceSection(representation=("table",), dim=(4,), device=("h200", "v100"), batch=(1, 4096)))
    price = CostColumns(cost_model=make_cost_model("v100", "h200"), devices={}, device="v100", batch=1)
    columns = SpaceModels(space=space).columns(space.all_codes())
    latencies = price(columns)["latency_ms"]
    for place in range(4):
        choices = space.choices(columns.codes_NG[place])
        alone = replace(price, device=str(choices["device"]), batch=int(choices["batch"]))
        table = make_space(SpaceSection(representation=("table",), dim=(4,)))
        expected = alone(SpaceModels(space=table).columns(table.all_codes()))["latency_ms"]
        assert latencies[place] == expected[0]


def test_more_capacity_where_queries_take_less_time() -> None:
    space = make_space()
    rows = QueryRows(share_R=np.array([0.5, 0.5]), sla_ms_R=np.array([1.0, 1.0]), percentile=99)
    load = ServedLoad(size_R=np.array([16.0, 256.0]), rows=rows)
    price = replace(make_pricer(), wanted=("capacity_qps",), load=load)
    costs = price(SpaceModels(space=space).columns(space.all_codes()))
    assert costs["capacity_qps"].min() > 0
    assert np.corrcoef(costs["capacity_qps"], 1 / costs["latency_ms"])[0, 1] > 0.9


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ("cost_per_million", "'v100' has no price_per_hour"),
        ("beauty", "nothing prices beauty"),
        ("capacity_qps", "needs a workload"),
    ],
)
def test_costs_that_cannot_be_priced_are_refused(wanted: str, complaint: str) -> None:
    space = make_space()
    with pytest.raises(InputError, match=complaint):
        make_pricer(wanted)(SpaceModels(space=space).columns(space.all_codes()))


def test_a_device_of_unknown_memory_has_no_share_of_it() -> None:
    space = make_space()
    price = replace(make_pricer("memory_share"), devices={"v100": JudgedDevice(name="v100")})
    with pytest.raises(InputError, match="the memory of 'v100' is unknown"):
        price(SpaceModels(space=space).columns(space.all_codes()))
