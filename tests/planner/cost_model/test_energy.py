from dataclasses import replace

import numpy as np
import pytest

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.cost_model.energy import energy_of
from profiles.errors import InputError
from profiles.hardware import get_hardware
from representations.components import work_of
from tests.planner.cost_model.test_composition import BATCHES, SPEC

GPU = RooflineDeviceModel(hardware=get_hardware("v100"), work=work_of)
LATENCY = CostModel(models={"gpu": GPU}).predict_model(SPEC, BATCHES, "gpu")


def test_without_a_reading_energy_is_modelled_from_the_busy_power() -> None:
    energy = energy_of(LATENCY, GPU)
    assert energy is not None
    assert (energy.label, energy.power_w) == ("modelled", 250)
    assert LATENCY.energy_j is not None
    np.testing.assert_allclose(energy.joules, LATENCY.energy_j)


def test_a_reading_comes_before_the_catalogue() -> None:
    energy = energy_of(LATENCY, GPU, measured_w=100.0)
    assert energy is not None
    assert energy.label == "measured"
    np.testing.assert_allclose(energy.joules, 0.1 * LATENCY.mean_ms)
    with pytest.raises(InputError, match=r"measured watts must be > 0, but got 0"):
        energy_of(LATENCY, GPU, measured_w=0.0)


def test_unknown_power_is_no_energy_rather_than_none_used() -> None:
    assert (
        energy_of(LATENCY, RooflineDeviceModel(hardware=replace(get_hardware("v100"), tdp_w=None), work=work_of))
        is None
    )
