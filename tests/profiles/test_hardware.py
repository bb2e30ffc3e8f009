import pytest

from profiles.errors import UnknownNameError
from profiles.hardware import LOCAL_CPU, catalogue, get_hardware, local_cpu


def test_published_figures_of_the_catalogue() -> None:
    v100, h200 = get_hardware("v100"), get_hardware("h200")
    assert (v100.peak("float32"), v100.memory_bytes, v100.tdp_w) == (14e12, 32e9, 250)
    assert (h200.peak("bfloat16"), h200.bandwidth_bytes_per_s) == (989e12, 4.8e12)
    assert get_hardware("ipu-pod16").chips == 16


def test_every_entry_has_positive_figures_and_a_source() -> None:
    for name, hardware in catalogue().items():
        assert hardware.name == name
        assert hardware.memory_bytes > 0
        assert all(peak > 0 for peak in hardware.peak_flops_per_s.values())
        assert hardware.source
        assert hardware.is_local == (name == LOCAL_CPU)


def test_a_dtype_without_a_figure_has_no_peak() -> None:
    assert get_hardware("v100").peak("int4") is None


def test_this_machine_has_memory_but_no_published_peak() -> None:
    here = local_cpu()
    assert here.is_local
    assert here.memory_bytes > 2**28
    assert here.peak("float32") is None


def test_an_unknown_device_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown name 'h300'.*known: .*h200"):
        get_hardware("h300")
