from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import HOST_LINK, CostModel
from planner.cost_model.context import Context
from planner.cost_model.estimates import worst_provenance
from planner.cost_model.model import fit_device_model
from profiles.errors import InputError, UnknownNameError
from profiles.hardware import get_hardware
from representations.components import components_of, model_work, work_of
from representations.specs import DheSpec, Feature, HybridSpec, ModelSpec, TableSpec
from tests.planner.cost_model.synthetic import profile_of

SPEC = ModelSpec(
    name="small",
    dense_features=4,
    features=(Feature(name="a", cardinality=1000), Feature(name="b", cardinality=50, pooling=3.0)),
    embeddings=(
        HybridSpec(table=TableSpec(dim=8), dhe=DheSpec(dim=8, k=16, widths=(32,))),
        DheSpec(dim=16, k=8, widths=(8,)),
    ),
    bottom_mlp=(32, 16),
    top_mlp=(32, 1),
)
BATCHES = (1, 512)


@pytest.fixture(scope="module")
def cost_model() -> CostModel:
    components = {placed.component for batch in BATCHES for placed in components_of(SPEC, batch)}
    rows = [profile_of(c, 1e-3 + work_of(c).bytes_moved / 1e7, relative_iqr=0.1) for c in components]
    gpu = RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)
    return CostModel(models={"cpu": fit_device_model(rows, work_of), "gpu": gpu})


def test_a_model_costs_the_sum_of_its_components(cost_model: CostModel) -> None:
    latency = cost_model.predict_model(SPEC, BATCHES, "cpu")
    for i, batch in enumerate(BATCHES):
        rows = latency.at(batch)
        assert [row.path for row in rows] == [placed.path for placed in components_of(SPEC, batch)]
        assert sum(row.mean_ms for row in rows) == pytest.approx(latency.mean_ms[i])
        assert sum(row.share for row in rows) == pytest.approx(1.0)


def test_measured_components_make_a_measured_model(cost_model: CostModel) -> None:
    assert cost_model.predict_model(SPEC, BATCHES, "cpu").provenance == "measured"
    assert cost_model.predict_model(SPEC, (7,), "cpu").provenance == "predicted"
    assert cost_model.predict_model(SPEC, (7,), "gpu").provenance == "estimated"
    assert worst_provenance(("predicted", "measured", "estimated")) == "estimated"


def test_bounds_add_up_as_fully_correlated(cost_model: CostModel) -> None:
    latency = cost_model.predict_model(SPEC, (512,), "cpu")
    np.testing.assert_allclose(latency.high_ms, 1.1 * latency.mean_ms)
    np.testing.assert_allclose(latency.low_ms, latency.mean_ms / 1.1)


def test_a_remote_device_pays_the_transfer_of_the_inputs(cost_model: CostModel) -> None:
    link = cost_model.predict_model(SPEC, (512,), "gpu").at(512)[-1]
    assert (link.path, link.kind) == (HOST_LINK, HOST_LINK)
    assert link.mean_ms == pytest.approx((10e-6 + model_work(SPEC, 512).input_bytes / 12e9) * 1e3)
    assert all(row.kind != HOST_LINK for row in cost_model.predict_model(SPEC, (512,), "cpu").components)


def test_what_else_a_device_holds_decides_whether_a_model_streams() -> None:
    ipu = CostModel(models={"ipu": RooflineDeviceModel(hardware=get_hardware("ipu-gc200"), work=work_of)})
    alone, beside = (ipu.predict_model(SPEC, (512,), "ipu", resident_bytes=held).mean_ms for held in (None, 10**9))
    assert beside[0] > alone[0]


def test_energy_is_busy_power_times_latency_and_unknown_without_power(cost_model: CostModel) -> None:
    gpu = cost_model.predict_model(SPEC, BATCHES, "gpu")
    assert gpu.energy_j is not None
    np.testing.assert_allclose(gpu.energy_j, 250 * gpu.mean_ms / 1e3)
    assert cost_model.predict_model(SPEC, BATCHES, "cpu").energy_j is None


def test_batches_together_equal_batches_alone(cost_model: CostModel) -> None:
    together = cost_model.predict_model(SPEC, (3, 100), "cpu")
    alone = [cost_model.predict_model(SPEC, (batch,), "cpu").mean_ms[0] for batch in (3, 100)]
    np.testing.assert_allclose(together.mean_ms, alone)
    assert not together.extrapolated


def test_skew_changes_what_tables_touch(cost_model: CostModel) -> None:
    uniform, skewed = (cost_model.predict_model(SPEC, (512,), "gpu", zipf) for zipf in (0.0, {"a": 1.5}))
    assert skewed.mean_ms[0] < uniform.mean_ms[0]


def test_an_unknown_device_and_no_batch_are_refused(cost_model: CostModel) -> None:
    with pytest.raises(UnknownNameError, match=r"device: unknown name 'tpu'.*known: cpu, gpu"):
        cost_model.predict_model(SPEC, (1,), "tpu")
    with pytest.raises(InputError, match=r"needs at least one batch"):
        cost_model.predict_model(SPEC, (), "cpu")


def test_in_context_every_component_costs_more_and_nothing_counts_as_measured(cost_model: CostModel) -> None:
    placed = replace(cost_model, contexts={"cpu": Context(stretch=1.1, per_component_ms=0.01)})
    alone, inside = (one.predict_model(SPEC, (512,), "cpu") for one in (cost_model, placed))
    count = len(components_of(SPEC, 512))
    assert inside.mean_ms[0] == pytest.approx(1.1 * alone.mean_ms[0] + 0.01 * count)
    assert sum(row.mean_ms for row in inside.components) == pytest.approx(inside.mean_ms[0])
    assert inside.provenance == "predicted"
