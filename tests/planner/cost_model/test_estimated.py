from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.estimated import estimated_model, is_transferable
from planner.cost_model.model import FittedDeviceModel, fit_device_model
from planner.cost_model.transfer import TransferredDeviceModel
from profiles.errors import InputError
from profiles.hardware import get_hardware
from representations.components import work_of
from tests.planner.cost_model.synthetic import FINGERPRINT, linears, profile_of

SIZES = linears([(32, 32), (256, 128), (1024, 512)])


def measured(kind: str, slower: float = 1.0) -> FittedDeviceModel:
    """A GPU that is so much slower than its published figures say."""
    hardware = get_hardware(kind)
    said = RooflineDeviceModel(hardware=hardware, work=work_of).predict(SIZES).mean_ms
    fingerprint = replace(FINGERPRINT, device=kind)
    rows = [profile_of(one, slower * ms, fingerprint=fingerprint) for one, ms in zip(SIZES, said.tolist(), strict=True)]
    return fit_device_model(rows, work_of, hardware=hardware)


def transferred(models: Mapping[str, FittedDeviceModel], kind: str = "h100") -> TransferredDeviceModel:
    model = estimated_model(get_hardware(kind), models, work_of)
    assert isinstance(model, TransferredDeviceModel)
    return model


@pytest.mark.parametrize(
    ("source", "target", "may"),
    [
        (None, "xeon-e5-2680v4", True),
        (None, "v100", False),
        ("v100", "h200", True),
        ("tpuv3-core", "tpuv3-board", False),
        ("ipu-gc200", "ipu-m2000", False),
    ],
)
def test_only_single_chips_of_one_class_tell_of_each_other(source: str | None, target: str, *, may: bool) -> None:
    model = replace(measured("v100"), hardware=get_hardware(source) if source else None)
    assert is_transferable(model, get_hardware(target)) is may


def test_without_a_measured_device_of_the_class_it_is_as_published() -> None:
    model = estimated_model(get_hardware("xeon-e5-2680v4"), {"gpu": measured("v100")}, work_of)
    assert isinstance(model, RooflineDeviceModel)
    with pytest.raises(InputError, match="has no published bandwidth"):
        estimated_model(get_hardware("local-cpu"), {}, work_of)


def test_with_one_measured_device_its_error_is_assumed() -> None:
    model = transferred({"old": measured("v100"), "same": measured("v100")})
    assert (model.source_name, model.checks) == ("old", {})
    assert model.half_width == pytest.approx(np.log(2))
    assert model.notes[0].endswith("measured on old; intervals are a factor of 2 wider either way")


def test_with_two_measured_devices_the_error_of_the_transfer_is_measured() -> None:
    near = transferred({"old": measured("v100"), "new": measured("a100")})
    far = transferred({"old": measured("v100"), "new": measured("a100", slower=3.0)})
    assert near.checks["new"].errors.rows == len(SIZES)
    assert near.half_width < far.half_width
    # What is three times slower than published is predicted to take a third: an error of two thirds.
    assert far.checks["new"].errors.mape == pytest.approx(2 / 3, abs=0.1)
    off = f"{100 * far.checks['new'].errors.mape:.0f} % off"
    assert f", which is {off} where it is carried to new" in far.notes[0]
    known, sizes = far.source.predict(SIZES), far.predict(SIZES)
    width = np.log(sizes.high_ms / sizes.mean_ms) - np.log(known.high_ms / known.mean_ms)
    np.testing.assert_allclose(width, far.half_width)


def test_devices_without_a_common_family_tell_nothing_of_a_transfer() -> None:
    other = measured("a100").only(())
    assert transferred({"old": measured("v100"), "new": other}).checks == {}
