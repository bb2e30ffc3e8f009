from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.eager import launches_of, unfused_bytes
from planner.cost_model.host_inputs import HostInputs
from profiles.component import Component, make_component
from profiles.errors import InputError
from profiles.hardware import get_hardware, local_cpu
from representations.components import work_of

GEMM = make_component("linear", 4096, {"in_features": 4096, "out_features": 4096})
TABLE = make_component("embedding", 4096, {"rows": 10**6, "dim": 64, "pooling": 1.0, "zipf": 0.0, "backend": "torch"})


def mean_ms(name: str, component: Component, resident_bytes: int | None = None) -> float:
    model = RooflineDeviceModel(hardware=get_hardware(name), work=work_of)
    return float(model.predict([component], resident_bytes=resident_bytes).mean_ms[0])


def test_a_large_gemm_runs_at_the_achieved_share_of_the_peak() -> None:
    work = work_of(GEMM)
    assert mean_ms("a100", GEMM) == pytest.approx(6e-3 + work.flops / (19.5e12 * 0.705) * 1e3)


def test_a_gather_runs_at_the_achieved_share_of_the_bandwidth() -> None:
    work = work_of(TABLE)
    assert mean_ms("v100", TABLE) == pytest.approx(7e-3 + work.bytes_moved / (900e9 * 0.944) * 1e3)


def test_a_tiny_component_costs_its_launches() -> None:
    one = make_component("linear", 1, {"in_features": 1, "out_features": 1})
    encoder = make_component("dhe_encoder", 1, {"k": 2, "rows": 5, "transform": "uniform"})
    assert mean_ms("h100", one) == pytest.approx(5e-3, rel=1e-3)
    assert mean_ms("h100", encoder) == pytest.approx(5e-3, rel=1e-3)


def test_a_gaussian_encoder_pays_for_passes_over_floats_on_a_gpu_and_for_one_kernel_on_a_processor() -> None:
    encoder = make_component("dhe_encoder", 4096, {"k": 1024, "rows": 2**40, "transform": "gaussian"})
    moved = unfused_bytes(encoder, work_of(encoder).bytes_moved)
    assert mean_ms("h200", encoder) == pytest.approx(
        launches_of(encoder) * 5e-3 + moved / (4.8e12 * 0.896) * 1e3, rel=0.02
    )
    processor = replace(get_hardware("v100"), family="cpu", launch_overhead_s=0.0)
    here = RooflineDeviceModel(hardware=processor, work=work_of).predict([encoder]).mean_ms[0]
    assert here == pytest.approx(work_of(encoder).bytes_moved / (900e9 * 0.944) * 1e3)


def test_hashing_never_runs_at_a_matrix_unit_s_peak() -> None:
    encoder = make_component("dhe_encoder", 4096, {"k": 1024, "rows": 9, "transform": "uniform"})
    base = replace(get_hardware("v100"), bandwidth_bytes_per_s=1e18, launch_overhead_s=0.0, achieved_flops_share=0.5)
    slow = replace(base, peak_flops_per_s={"float32": 1e12, "tf32": 1e14})
    estimate = RooflineDeviceModel(hardware=slow, work=work_of).predict([encoder]).mean_ms[0]
    assert estimate == pytest.approx(work_of(encoder).flops / 0.5e12 * 1e3)
    without = replace(slow, peak_flops_per_s={"bfloat16": 1e14})
    assert RooflineDeviceModel(hardware=without, work=work_of).predict([encoder]).mean_ms[0] < 1e-3 * estimate


def test_a_model_that_does_not_fit_on_chip_streams() -> None:
    fits, streams = mean_ms("ipu-gc200", TABLE, 10**8), mean_ms("ipu-gc200", TABLE, 10**9)
    assert streams > 20 * fits


def test_without_a_peak_for_the_dtype_the_nearest_documented_one_is_used_and_named() -> None:
    model = RooflineDeviceModel(hardware=get_hardware("tpuv3-chip"), work=work_of)
    assert model.peak_dtype("float32") == "bfloat16"
    assert "float32 is taken at the published bfloat16 peak" in model.notes


def test_without_any_peak_that_could_stand_in_it_raises() -> None:
    model = RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)
    wide = make_component("linear", 1, {"in_features": 1, "out_features": 1}, dtype="float64")
    with pytest.raises(InputError, match=r"'v100': no peak for dtype 'float64'; published: float32, float16"):
        model.predict([wide])


def test_everything_is_estimated_within_the_assumed_factor() -> None:
    estimates = RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of).predict([GEMM, TABLE])
    assert estimates.provenance == ("estimated", "estimated")
    np.testing.assert_allclose(estimates.high_ms / estimates.low_ms, 4.0)


def test_inputs_cross_the_host_link_once() -> None:
    model = RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)
    inputs = [HostInputs(batch=1, tables=1, sent_bytes=sent_bytes) for sent_bytes in (0.0, 12e6)]
    np.testing.assert_allclose(model.transfer(inputs).mean_ms, [0.01, 1.01])
    unlinked = replace(get_hardware("v100"), host_link_bytes_per_s=None)
    assert RooflineDeviceModel(hardware=unlinked, work=work_of).transfer(inputs).mean_ms.tolist() == [0.0, 0.0]


def test_power_is_the_studys_else_the_catalogues() -> None:
    hardware = get_hardware("v100")
    assert RooflineDeviceModel(hardware=hardware, work=work_of).busy_w == 250
    assert RooflineDeviceModel(hardware=hardware, work=work_of, power_w=120.0).busy_w == 120
    assert RooflineDeviceModel(hardware=hardware, work=work_of).scatter.sigma == 0


def test_a_device_without_published_figures_must_be_measured() -> None:
    with pytest.raises(InputError, match=r"'local-cpu': has no published bandwidth"):
        RooflineDeviceModel(hardware=local_cpu(), work=work_of)
