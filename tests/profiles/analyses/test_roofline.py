import pytest

from profiles.analyses.roofline import Roofline, achieved_roofline, published_roofline
from profiles.errors import InputError
from tests.profiles.rows import latency, row


def test_the_slower_of_arithmetic_and_traffic_bounds() -> None:
    roof = Roofline(flops_per_s=1e9, bytes_per_s=1e6)
    assert roof.attainable_ms(2e6, 1e3) == 2.0
    assert roof.attainable_ms(2e6, 5e3) == 5.0
    assert roof.attainable_ms(None, 5e3) == 5.0
    assert roof.attainable_ms(0.0, None) == 0.0
    assert roof.attainable_ms(None, None) is None


def test_published_peaks_are_those_of_device_and_dtype() -> None:
    roof = published_roofline("v100", "float32")
    assert roof is not None
    assert roof.flops_per_s == pytest.approx(14e12, rel=0.2)
    assert published_roofline("v100", "float8_e4m3fn") is None
    assert published_roofline("no-such-device", "float32") is None


def test_what_a_profile_achieved_is_the_best_of_its_modules() -> None:
    rows = [
        row(path="a", warm=latency(2.0), flops=4e6, bytes_moved=1e3),
        row(path="b", warm=latency(1.0), flops=1e6, bytes_moved=1e4),
        row(path="c", flops=1e12),
    ]
    roof = achieved_roofline(rows)
    assert (roof.flops_per_s, roof.bytes_per_s) == (2e9, 1e7)
    with pytest.raises(InputError, match="no module of the profile has a latency"):
        achieved_roofline(rows[2:])


def test_a_roofline_needs_both_figures() -> None:
    with pytest.raises(InputError, match="bytes_per_s must be > 0, but got 0"):
        Roofline(flops_per_s=1.0, bytes_per_s=0.0)
