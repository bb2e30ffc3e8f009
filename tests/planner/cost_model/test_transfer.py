from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.device_roof import DeviceRoof
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.model import FittedDeviceModel, fit_device_model
from planner.cost_model.transfer import TransferredDeviceModel, achieved_roof, transfer_error
from profiles.component import Component, make_component
from profiles.errors import InputError, UnknownNameError
from profiles.hardware import Hardware, get_hardware
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from representations.components import work_of
from representations.provider import RecommendationProvider
from tests.planner.cost_model.synthetic import linears, profiles_of, random_sizes

HERE = DeviceRoof(flops_per_s=50e9, bytes_per_s=10e9, launch_ms=0.005)
THERE = DeviceRoof(flops_per_s=400e9, bytes_per_s=40e9, launch_ms=0.002)
CPU = get_hardware("xeon-e5-2680v4")
SIZES = linears(random_sizes(12, seed=0))


def rows_of(roof: DeviceRoof, components: list[Component], *, noise: float = 0.0) -> FittedDeviceModel:
    """A device that reaches a share of its roof that falls with narrow outputs, the same on every device."""

    def latency_ms(component: Component) -> float:
        work = work_of(component)
        busy = float(roof.busy_ms(np.array([work.flops]), np.array([work.bytes_moved]))[0])
        return roof.launch_ms + busy * (1 + 8 / int(component["out_features"]))

    return fit_device_model(profiles_of(components, latency_ms, noise=noise), work_of)


def transferred(source: FittedDeviceModel, hardware: Hardware = CPU) -> TransferredDeviceModel:
    return TransferredDeviceModel(
        source=source, source_name="here", source_roof=HERE, roof=THERE, hardware=hardware, work=work_of
    )


def test_a_device_of_equal_utilisation_is_predicted_exactly_from_another() -> None:
    error = transfer_error(rows_of(HERE, SIZES), rows_of(THERE, SIZES), CPU, roofs=(HERE, THERE))
    compute_bound = [one for one in SIZES if one.batch > 8]
    assert error.errors.median < 0.01
    assert error.by_kind["linear"] == error.errors
    assert len(compute_bound) < error.errors.rows


def test_a_transfer_beats_the_catalogue_on_what_reaches_little_of_its_roof() -> None:
    narrow = [one for one in SIZES if int(one["out_features"]) < 64 and one.batch > 64]
    there, source = rows_of(THERE, SIZES), rows_of(HERE, SIZES)
    truth = there.predict(narrow).mean_ms
    by_transfer = np.abs(transferred(source).predict(narrow).mean_ms / truth - 1).mean()
    published = replace(
        CPU,
        peak_flops_per_s={"float32": THERE.flops_per_s / 0.7},
        bandwidth_bytes_per_s=THERE.bytes_per_s / 0.85,
        launch_overhead_s=THERE.launch_ms / 1e3,
    )
    by_catalogue = np.abs(
        RooflineDeviceModel(hardware=published, work=work_of).predict(narrow).mean_ms / truth - 1
    ).mean()
    assert by_transfer < by_catalogue


def test_everything_is_estimated_and_wider_than_the_source() -> None:
    source = rows_of(HERE, SIZES, noise=0.05)
    before, after = source.predict(SIZES), transferred(source).predict(SIZES)
    assert set(after.provenance) == {"estimated"}
    np.testing.assert_allclose(after.high_ms / after.mean_ms, 2 * before.high_ms / before.mean_ms)
    assert transferred(source).provenance == "estimated"
    assert transferred(source).scatter == source.scatter


def test_nothing_is_faster_than_the_roof() -> None:
    source = rows_of(replace(HERE, launch_ms=0.0001), SIZES)
    work = [work_of(one) for one in SIZES]
    least = THERE.busy_ms(np.array([one.flops for one in work]), np.array([one.bytes_moved for one in work]))
    assert (transferred(source).predict(SIZES).mean_ms >= least).all()


def test_the_source_and_the_power_are_named() -> None:
    model = transferred(rows_of(HERE, SIZES))
    assert model.notes == (
        "xeon-e5-2680v4: estimated from the utilisation measured on here; intervals are a factor of 2 wider either way",
    )
    assert (model.busy_w, replace(model, power_w=50.0).busy_w) == (120, 50)
    inputs = HostInputs(batch=1, tables=1, sent_bytes=12e6)
    assert transferred(rows_of(HERE, SIZES), get_hardware("v100")).transfer([inputs]).mean_ms.tolist() == [1.01]


def test_what_the_source_never_saw_is_unknown() -> None:
    relu = make_component("elementwise", 8, {"function": "relu", "width": 8})
    source = rows_of(HERE, SIZES)
    with pytest.raises(UnknownNameError, match=r"component: unknown name 'elementwise\(relu\)'"):
        transferred(source).predict([relu])
    alone = fit_device_model(profiles_of([relu], lambda _: 0.01), work_of)
    with pytest.raises(InputError, match="no measured family in common"):
        transfer_error(source, alone, CPU, roofs=(HERE, THERE))
    with pytest.raises(InputError, match="no measured component has any FLOPs"):
        achieved_roof(alone)


def test_a_roof_needs_rates() -> None:
    with pytest.raises(InputError, match=r"rates must be > 0"):
        DeviceRoof(flops_per_s=0.0, bytes_per_s=1.0, launch_ms=0.0)


def test_two_thread_counts_of_this_processor_are_two_measured_devices(tmp_path: Path) -> None:
    components = linears([(64, 64), (256, 128), (512, 512)], (8, 256, 1024))
    models = []
    for threads in (1, 2):
        store = ProfileStore(tmp_path / str(threads))
        options = SweepOptions(threads=threads, seconds_per_visit=0.002, max_seconds_per_visit=0.02, least_gap_s=0.0)
        sweep(components, RecommendationProvider(), store, options=options)
        models.append(fit_device_model([row for row in store.load() if row.warm], work_of))
    error = transfer_error(models[0], models[1], CPU)
    assert error.errors.rows == len(components)
    assert np.isfinite([error.errors.mape, error.half_width]).all()
