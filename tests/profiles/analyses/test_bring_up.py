import pytest

from profiles.analyses.bring_up import compare_devices
from profiles.analyses.roofline import Roofline
from profiles.errors import InputError
from profiles.records import ComponentProfile
from tests.profiles.rows import latency, row

KNOWN = Roofline(flops_per_s=1e9, bytes_per_s=1e9)
# Ten times the arithmetic, twice the bandwidth.
NEW = Roofline(flops_per_s=1e10, bytes_per_s=2e9)


def module(path: str, ms: float, flops: float = 0.0, moved: float | None = None) -> ComponentProfile:
    return row(path=path, kind="leaf", warm=latency(ms), flops=flops, bytes_moved=moved)


def compared(new: list[ComponentProfile]) -> dict[str, float | None]:
    known = [module("gemm", 10.0, flops=1e6), module("gather", 4.0, moved=1e6), module("odd", 1.0)]
    found = compare_devices(known, new, known_roofline=KNOWN, new_roofline=NEW)
    return {one.path: one.excess_ms for one in found}


def test_a_module_is_expected_to_gain_what_bounds_it() -> None:
    excess = compared([module("gemm", 1.0, flops=1e6), module("gather", 2.0, moved=1e6), module("odd", 1.0)])
    assert excess == {"gemm": pytest.approx(0.0), "gather": pytest.approx(0.0), "odd": None}


def test_what_loses_most_against_its_roofline_comes_first() -> None:
    excess = compared([module("gemm", 2.0, flops=1e6), module("gather", 3.5, moved=1e6), module("odd", 9.0)])
    assert list(excess) == ["gather", "gemm", "odd"]
    assert excess["gather"] == pytest.approx(1.5)


def test_ratios_stand_beside_one_another() -> None:
    (one,) = compare_devices([module("a", 4.0, 1e6)], [module("a", 1.0, 1e6)], known_roofline=KNOWN, new_roofline=NEW)
    assert one.ratio == 0.25
    assert one.expected_ratio == pytest.approx(0.1)
    (odd,) = compare_devices([module("a", 4.0)], [module("a", 1.0)], known_roofline=KNOWN, new_roofline=NEW)
    assert odd.expected_ratio is None


def test_published_rooflines_are_taken_where_none_is_given() -> None:
    known, new = (
        row(path="", kind="leaf", device=device, dtype="float32", warm=latency(1.0), flops=1e9, bytes_moved=1.0)
        for device in ("v100", "h100")
    )
    (one,) = compare_devices([known], [new])
    assert one.expected_ratio is not None
    assert one.expected_ratio < 0.5


def test_devices_without_peaks_and_profiles_without_common_modules_are_refused() -> None:
    with pytest.raises(InputError, match="no peaks of local-cpu are known for float32"):
        compare_devices([module("a", 1.0)], [module("a", 1.0)])
    with pytest.raises(InputError, match="no module was measured in both"):
        compare_devices([module("a", 1.0)], [row(path="", kind="container")], known_roofline=KNOWN, new_roofline=NEW)
