from typing import Any

import pytest

from profiles.charts.kernels import kernel_chart, kernel_frame
from profiles.kernel_time import KernelTime


def kernel(path: str | None, name: str = "mm", milliseconds: float = 1.0, **changes: Any) -> KernelTime:
    return KernelTime(path=path, kernel=name, device="h100", calls=2.0, milliseconds=milliseconds, **changes)


def test_kernels_are_summed_under_their_modules_the_slowest_first() -> None:
    frame = kernel_frame([kernel("a"), kernel("a", "add", 3.0), kernel("b", "mm", 6.0), kernel(None), kernel("")])
    assert list(dict.fromkeys(frame["module"])) == ["b", "a", "outside all modules", "the model itself"]
    assert frame.filter(module="a")["kernel"].to_list() == ["add", "mm"]
    assert frame["milliseconds"].sum() == pytest.approx(12.0)
    assert frame["share"].sum() == pytest.approx(1.0)


def test_deep_modules_are_shown_as_deep_as_there_is_room() -> None:
    few = kernel_frame([kernel("a.x.y"), kernel("a.x.z")])
    assert few["module"].to_list() == ["a.x.y", "a.x.z"]
    many = kernel_frame([kernel(f"a.x{i}.y{j}") for i in range(10) for j in range(10)])
    assert many["module"].unique(maintain_order=True).to_list() == [f"a.x{i}" for i in range(10)]
    assert many["milliseconds"].to_list() == pytest.approx([10.0] * 10)


def test_more_modules_than_there_is_room_for_are_summed() -> None:
    frame = kernel_frame([kernel(f"m{i}", milliseconds=100.0 - i) for i in range(30)])
    assert frame["module"].n_unique() == 25
    assert frame["module"].to_list()[-1] == "other modules"
    assert frame["calls"].to_list()[-1] == 12.0


def test_rare_kernels_are_summed_as_others() -> None:
    frame = kernel_frame([kernel("a", f"k{i}", 10.0 - i) for i in range(9)])
    assert set(frame["kernel"]) == {"k0", "k1", "k2", "k3", "k4", "k5", "other kernels"}
    assert frame.filter(kernel="other kernels")["milliseconds"].to_list() == pytest.approx([4.0 + 3.0 + 2.0])


def test_each_phase_has_its_kernels() -> None:
    kernels = [kernel("a"), kernel("a", "mm_backward", phase="backward")]
    assert kernel_frame(kernels)["kernel"].to_list() == ["mm"]
    assert kernel_frame(kernels, phase="backward")["kernel"].to_list() == ["mm_backward"]


def test_the_chart_has_a_bar_per_module_and_a_colour_per_kernel() -> None:
    spec = kernel_chart([kernel("a", milliseconds=1.0), kernel("b", "add", 2.0)]).to_dict()
    assert spec["encoding"]["y"]["sort"] == ["b", "a"]
    assert spec["encoding"]["color"]["scale"]["domain"] == ["add", "mm", "other kernels"]
    assert spec["height"] == 44
