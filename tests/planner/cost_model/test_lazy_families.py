from collections import Counter

import numpy as np
import pytest

from planner.cost_model.model import FittedDeviceModel, fit_device_model
from profiles.component import Component, Work, make_component
from representations.components import work_of
from tests.planner.cost_model.synthetic import linears, profiles_of, random_sizes

LINEARS = linears(random_sizes(6, 1), (1, 64))
RELUS = [
    make_component("elementwise", batch, {"function": "relu", "width": width})
    for width in (8, 32, 128)
    for batch in (1, 16, 256)
]
ASKED = linears([(33, 77)], (5,))


def fitted() -> FittedDeviceModel:
    return fit_device_model(profiles_of([*LINEARS, *RELUS], noise=0.02), work_of)


def test_no_more_is_fitted_than_is_asked_for() -> None:
    worked: Counter[str] = Counter()

    def counted(component: Component) -> Work:
        worked[component.kind] += 1
        return work_of(component)

    model = fit_device_model(profiles_of([*LINEARS, *RELUS]), counted)
    worked.clear()
    model.predict(LINEARS)
    assert not worked
    model.predict(ASKED)
    assert set(worked) == {"linear"}


def test_what_was_asked_before_changes_nothing() -> None:
    one, other = fitted(), fitted()
    asked = [*ASKED, make_component("elementwise", 9, {"function": "relu", "width": 9})]
    other.predict(asked[1:])
    assert one.predict(asked).mean_ms.tolist() == other.predict(asked).mean_ms.tolist()


def test_families_are_known_by_name_before_they_are_fitted() -> None:
    families = fitted().families
    assert list(families) == ["elementwise(relu)", "linear"]
    assert len(families) == 2
    assert "linear" in families
    assert "concat" not in families
    with pytest.raises(KeyError):
        families["concat"]


def test_a_part_has_its_own_rows_and_shares_its_fits() -> None:
    model = fitted()
    part = model.only({"linear", "concat"})
    assert list(part.families) == ["linear"]
    assert set(part.rows.components) == set(LINEARS)
    assert part.families["linear"] is model.families["linear"]
    np.testing.assert_array_equal(part.predict(LINEARS).mean_ms, model.predict(LINEARS).mean_ms)
