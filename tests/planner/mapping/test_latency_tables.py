from collections.abc import Sequence

import numpy as np
import pytest

from planner.cost_model.composition import CostModel
from planner.cost_model.estimates import Estimates, LatencyProvenance
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.host_link import no_trip
from planner.cost_model.scatter import Scatter
from planner.mapping.latency_tables import latency_table, query_sizes
from profiles.component import Component
from representations.components import work_of
from serving_sim.plan import IdleGap
from tests.planner.mapping.pools import tiny_base


class FallingDevice:
    """Faster at larger batches, as a noisy prediction may be."""

    provenance: LatencyProvenance = "predicted"
    scatter = Scatter(sigma=0.07, idled_ms=0.5)
    busy_w = None
    notes = ()

    def predict(self, components: Sequence[Component], *, resident_bytes: int | None = None) -> Estimates:
        del resident_bytes
        mean = np.array([1.0 if component.batch == 1 else 0.8 for component in components])
        flagged = np.array([component.kind == "linear" for component in components])
        provenance: list[LatencyProvenance] = ["predicted" for _ in components]
        return Estimates(
            mean_ms=mean, low_ms=mean / 2, high_ms=mean * 2, provenance=tuple(provenance), extrapolated=flagged
        )

    def transfer(self, inputs: Sequence[HostInputs]) -> Estimates:
        return no_trip(len(inputs))


@pytest.mark.parametrize(
    ("largest", "sizes"), [(1, (1,)), (2, (1, 2)), (5, (1, 2, 4, 5)), (4096, tuple(2**i for i in range(13)))]
)
def test_query_sizes_double_up_to_the_largest(largest: int, sizes: tuple[int, ...]) -> None:
    assert query_sizes(largest) == sizes


def test_a_falling_prediction_is_kept_from_falling_and_noted() -> None:
    cost_model = CostModel(models={"cpu": FallingDevice()}, work=work_of)
    table, predicted, notes = latency_table(cost_model, tiny_base(), "cpu", 8, 0.0)
    assert len(set(table.mean_ms)) == 1
    assert predicted.mean_ms[-1] < table.mean_ms[-1]
    assert notes[0] == "tiny on cpu: predictions fell by up to 25 % with size; kept from falling"
    assert notes[1] == "tiny on cpu: beyond the measured range for linear; intervals are widened"


def test_single_queries_scatter_as_the_devices_measurements_do() -> None:
    cost_model = CostModel(models={"cpu": FallingDevice()}, work=work_of)
    table, _, _ = latency_table(cost_model, tiny_base(), "cpu", 8, 0.0)
    assert (table.spread, table.sigma) == ("lognormal", 0.07)


def test_predicted_quartiles_become_means_of_what_the_simulator_draws() -> None:
    cost_model = CostModel(models={"cpu": FallingDevice()}, work=work_of)
    table, predicted, _ = latency_table(cost_model, tiny_base(), "cpu", 1, 0.0)
    draws = np.exp(np.random.default_rng(0).normal(-(0.07**2) / 2, 0.07, 100_000))
    assert table.mean_ms[0] * np.quantile(draws, 0.25) == pytest.approx(predicted.mean_ms[0], rel=2e-3)


def test_what_a_call_takes_longer_after_idleness_is_added_whatever_its_size() -> None:
    cost_model = CostModel(models={"cpu": FallingDevice()}, work=work_of)
    table, _, _ = latency_table(cost_model, tiny_base(), "cpu", 8, 0.0)
    assert table.idle_gap == IdleGap(after_ms=2, added_ms=0.5)


def test_a_device_without_calls_after_pauses_says_nothing_of_idleness() -> None:
    device = FallingDevice()
    device.scatter = Scatter(sigma=0.07)
    table, _, _ = latency_table(CostModel(models={"cpu": device}, work=work_of), tiny_base(), "cpu", 8, 0.0)
    assert table.idle_gap is None
