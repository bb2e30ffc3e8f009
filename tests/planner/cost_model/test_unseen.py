import numpy as np
import pytest

from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.model import fit_device_model
from planner.cost_model.unseen import UnseenDeviceModel
from profiles.component import make_component
from representations.components import work_of
from tests.planner.cost_model.synthetic import linears, profile_of, profiles_of, random_sizes, stepped_ms


def test_a_measured_component_is_predicted_by_the_fit_that_did_not_see_its_shape() -> None:
    model = fit_device_model(profiles_of(linears(random_sizes(8, 1), (1, 64)), stepped_ms, noise=0.02), work_of)
    held_out = model.families["linear"].held_out
    unseen = UnseenDeviceModel(model).predict(held_out.components)
    np.testing.assert_allclose(unseen.mean_ms, held_out.predicted_ms, rtol=1e-9)
    assert set(unseen.provenance) == {"predicted"}
    other_batch = linears(random_sizes(8, 1), (9,))
    assert (UnseenDeviceModel(model).predict(other_batch).mean_ms != model.predict(other_batch).mean_ms).all()


def test_a_shape_that_nobody_saw_is_predicted_as_ever() -> None:
    model = fit_device_model(profiles_of(linears(random_sizes(6, 1), (1, 64))), work_of)
    strange = linears([(33, 77)], (5,))
    assert UnseenDeviceModel(model).predict(strange).mean_ms == pytest.approx(model.predict(strange).mean_ms)


def test_a_family_too_small_to_hold_out_stays_measured() -> None:
    relu = make_component("elementwise", 8, {"function": "relu", "width": 8})
    model = fit_device_model([profile_of(relu, 0.5), *profiles_of(linears(random_sizes(6, 1), (1, 64)))], work_of)
    unseen = UnseenDeviceModel(model)
    assert unseen.predict([relu]).provenance == ("measured",)
    assert unseen.predict([relu]).mean_ms.tolist() == [0.5]
    assert unseen.notes == ("too few shapes, so held out by single rows: elementwise(relu)",)


def test_all_else_is_the_fitted_models() -> None:
    model = fit_device_model(profiles_of(linears(random_sizes(6, 1), (1,))), work_of, busy_w=30.0)
    unseen = UnseenDeviceModel(model)
    assert (unseen.busy_w, unseen.scatter, unseen.provenance) == (30.0, model.scatter, "predicted")
    assert unseen.transfer([HostInputs(batch=1, tables=1, sent_bytes=1e6)]).mean_ms.tolist() == [0.0]
    assert unseen.notes == ()
