import json

import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.memory import forward_memory
from planner.review.latencies import SourcedModel
from planner.review.pricing import ModelReview, review_model
from planner.review.subject import subject_of_spec
from planner.study import DeviceSection
from profiles.hardware import get_hardware
from representations.components import components_of, model_work, work_of
from tests.planner.review.small_models import BATCH, CPU, GPU, SPEC, review_of


@pytest.fixture(scope="module")
def review() -> ModelReview:
    return review_of()


def test_components_stand_in_order_and_sum_to_the_model(review: ModelReview) -> None:
    on_cpu, on_gpu = review.devices
    assert [row.path for row in on_cpu.components] == [one.path for one in components_of(SPEC, BATCH)]
    assert on_gpu.components[-1].kind == "host_link"
    for device in review.devices:
        assert sum(row.latency_ms for row in device.components) == pytest.approx(device.latency_ms)
        assert sum(row.share for row in device.components) == pytest.approx(1)
        assert sum(device.by_kind.values()) == pytest.approx(device.latency_ms)
        assert all(row.low_ms <= row.latency_ms <= row.high_ms for row in device.components)


def test_work_and_memory_are_those_of_the_model(review: ModelReview) -> None:
    work = model_work(SPEC, BATCH)
    assert (review.flops, review.bytes_moved) == (work.flops, work.bytes_moved)
    assert review.parameter_bytes == SPEC.parameter_bytes
    assert review.peak_bytes == forward_memory(SPEC, BATCH).peak_bytes
    assert sum(row.parameter_bytes for row in review.devices[0].components) == SPEC.parameter_bytes


def test_every_latency_says_what_it_rests_on(review: ModelReview) -> None:
    on_cpu, on_gpu = review.devices
    assert on_cpu.provenance == "measured"
    assert {row.provenance for row in on_gpu.components} == {"estimated"}


def test_a_million_samples_cost_the_price_of_their_time(review: ModelReview) -> None:
    for device, section in zip(review.devices, (CPU, GPU), strict=True):
        seconds = device.latency_ms / 1e3 * 1e6 / BATCH
        assert section.price_per_hour is not None
        assert device.cost_per_million == pytest.approx(section.price_per_hour / 3600 * seconds)
        costs = [row.cost_per_million or 0.0 for row in device.components]
        assert sum(costs) == pytest.approx(device.cost_per_million)


def test_energy_is_modelled_from_power(review: ModelReview) -> None:
    on_cpu, on_gpu = review.devices
    assert (on_cpu.energy_label, on_cpu.power_w) == ("modelled", 100.0)
    assert on_cpu.energy_j == pytest.approx(0.1 * on_cpu.latency_ms)
    assert on_gpu.power_w == get_hardware("v100").tdp_w


def test_shares_of_peaks_are_known_where_peaks_are(review: ModelReview) -> None:
    on_cpu, on_gpu = review.devices
    assert all(row.mfu is None for row in on_cpu.components)
    linear = next(row for row in on_gpu.components if row.kind == "linear")
    assert linear.mfu == pytest.approx(linear.flops / linear.latency_ms * 1e3 / 14e12)


def test_the_object_is_json(review: ModelReview) -> None:
    body = json.loads(json.dumps(review.to_object(), allow_nan=False))
    assert body["target"] == "small"
    assert {"latency_ms", "low_ms", "cost_per_million", "components", "source"} <= set(body["devices"][0])


def test_a_device_of_chips_says_how_it_holds_the_model_and_reaches_no_more_than_its_bandwidth() -> None:
    pod = DeviceSection(name="pod", kind="ipu-pod16")
    model = SourcedModel(model=RooflineDeviceModel(hardware=pod.hardware, work=work_of), source="estimated")
    (on_pod,) = review_model(subject_of_spec(SPEC), BATCH, [pod], {"pod": model}).devices
    assert any("lie in each of 16 units" in note for note in on_pod.notes)
    known = [row.bandwidth_share for row in on_pod.components if row.bandwidth_share is not None]
    assert known
    assert max(known) <= 1
