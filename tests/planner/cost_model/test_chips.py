from dataclasses import replace

import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.chips import layout_note, layout_of, reduce_dim_to_fit, residency_limits
from profiles.component import Component, make_component
from profiles.errors import InfeasibleError, InputError
from profiles.hardware import Hardware, get_hardware
from representations.assignment import with_representation
from representations.components import work_of
from representations.presets import get_preset
from representations.specs import ModelSpec

GEMM = make_component("linear", 4096, {"in_features": 4096, "out_features": 4096})
TABLE = make_component("embedding", 4096, {"rows": 10**6, "dim": 64, "pooling": 1.0, "zipf": 0.0, "backend": "torch"})
BOARD, POD = get_hardware("ipu-m2000"), get_hardware("ipu-pod16")


def mean_ms(hardware: Hardware, component: Component, resident_bytes: int) -> float:
    model = RooflineDeviceModel(hardware=hardware, work=work_of)
    return float(model.predict([component], resident_bytes=resident_bytes).mean_ms[0])


@pytest.mark.parametrize(
    ("name", "resident_bytes", "layout"),
    [
        ("v100", 10**9, "single"),
        ("ipu-gc200", 10**8, "single"),
        ("ipu-gc200", 10**9, "stream"),
        ("ipu-m2000", 9 * 10**8, "replicate"),
        ("ipu-m2000", 2 * 10**9, "pipeline"),
        ("ipu-m2000", 4 * 10**9, "stream"),
        ("ipu-pod16", 10**9, "shard"),
        ("ipu-pod16", 15 * 10**9, "stream"),
        ("tpuv3-core", 10**9, "single"),
        ("tpuv3-chip", 16 * 10**9, "replicate"),
        ("tpuv3-chip", 20 * 10**9, "shard"),
        ("tpuv3-board", 100 * 10**9, "shard"),
    ],
)
def test_models_are_replicated_sharded_piped_or_streamed_by_what_fits(
    name: str, resident_bytes: int, layout: str
) -> None:
    assert layout_of(get_hardware(name), resident_bytes).layout == layout


def test_layouts_change_at_the_limits_alone() -> None:
    assert residency_limits(get_hardware("v100")) == ()
    for hardware in (BOARD, POD, get_hardware("tpuv3-board")):
        for limit in residency_limits(hardware):
            assert layout_of(hardware, limit) != layout_of(hardware, limit + 1) or not hardware.on_chip_bytes
            assert layout_of(hardware, limit) == layout_of(hardware, limit - 1000)


def test_units_are_equal_parts_of_the_whole() -> None:
    core, chip = get_hardware("tpuv3-core"), get_hardware("tpuv3-chip")
    assert (chip.units, get_hardware("tpuv3-board").units, POD.units) == (2, 8, 16)
    for name in ("memory_bytes", "bandwidth_bytes_per_s", "peak_flops_per_s", "tdp_w"):
        assert getattr(chip.unit, name) == getattr(core, name)
    assert POD.unit.on_chip_bytes == get_hardware("ipu-gc200").on_chip_bytes


def test_replicas_split_the_samples() -> None:
    one, many = mean_ms(get_hardware("tpuv3-core"), GEMM, 10**6), mean_ms(get_hardware("tpuv3-board"), GEMM, 10**6)
    quarter = replace(GEMM, batch=512)
    assert many == pytest.approx(mean_ms(get_hardware("tpuv3-core"), quarter, 10**6))
    assert 4 < one / many < 8


def test_a_pipeline_gains_less_than_replicas_and_a_stream_least() -> None:
    replicated, piped, streamed = (mean_ms(BOARD, TABLE, held) for held in (10**8, 2 * 10**9, 10**10))
    assert replicated < piped < streamed
    assert piped == pytest.approx(replicated * 7 / 4)


def test_sharded_tables_pay_for_the_exchange_and_other_layers_do_not() -> None:
    replicated, sharded = (mean_ms(POD, TABLE, held) for held in (10**8, 10**9))
    exchanged_s = 4096 * 64 * 4 * 15 / 16**2 / 64e9
    assert sharded == pytest.approx(replicated + exchanged_s * 1e3, rel=1e-3)
    assert mean_ms(POD, GEMM, 10**8) == pytest.approx(mean_ms(POD, GEMM, 10**9))


def test_compilation_is_a_figure_of_its_own() -> None:
    model = RooflineDeviceModel(hardware=POD, work=work_of)
    assert model.compile_s == 1800
    assert any("compiles for 1800 s" in note for note in model.notes)
    assert RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of).compile_s == 0


def terabyte(dim: int) -> ModelSpec:
    return with_representation(get_preset("dlrm-terabyte-10m"), "table", dim=dim)


def test_the_dim_falls_until_the_model_fits_and_says_so() -> None:
    fitted = reduce_dim_to_fit(terabyte, (128, 64, 32), POD)
    assert (fitted.dim, fitted.model.parameter_bytes < 14_400_000_000) == (64, True)
    assert fitted.note.endswith("dim 64 instead of 128, to fit 14,400,000,000 bytes of ipu-pod16")
    assert reduce_dim_to_fit(terabyte, (64, 32), POD).note == ""


def test_what_fits_at_no_dim_is_infeasible() -> None:
    with pytest.raises(InfeasibleError, match=r"ipu-m2000: 3,600,000,000 bytes hold .* at none of the dims \[64, 32\]"):
        reduce_dim_to_fit(terabyte, (64, 32), BOARD)
    with pytest.raises(InputError, match=r"dims: must be one or more, falling, but got \[32, 64\]"):
        reduce_dim_to_fit(terabyte, (32, 64), BOARD)


@pytest.mark.parametrize(
    ("hardware", "resident_bytes", "told"),
    [
        (POD, 10**6, "1 MB of parameters lie in each of 16 units"),
        (POD, 2 * 10**9, "2 GB of parameters are sharded by table over 16 units"),
        (BOARD, 10**9, "1 GB of parameters are cut into stages on 4 units"),
        (get_hardware("ipu-gc200"), 10**10, "10 GB of parameters stream from the memory behind one unit of 900 MB"),
        (POD, 10**11, "100 GB of parameters stream from the memory behind 16 units"),
        (get_hardware("v100"), 10**6, ""),
    ],
)
def test_a_note_tells_how_a_model_lies_on_chips(hardware: Hardware, resident_bytes: int, told: str) -> None:
    assert layout_note(hardware, resident_bytes).startswith(told)
