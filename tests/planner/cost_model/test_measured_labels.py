import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from planner.cost_model.estimates import Floats
from planner.cost_model.family import fit_family
from planner.cost_model.features import drivers_of
from planner.cost_model.intervals import FOLDS, fold_numbers
from planner.cost_model.roofline import PhysicalLimits
from representations.components import work_of
from tests.planner.cost_model.measured_labels import MeasuredFamily, measured_families

LIMITS = PhysicalLimits(flops_per_s=2e12, bytes_per_s=2e12)


@pytest.fixture(scope="module")
def errors() -> dict[str, Floats]:
    """Absolute relative errors of all rows, held out by shape on the same folds."""
    with threadpool_limits(1):
        parts = [family_errors(name, family) for name, family in measured_families().items()]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def family_errors(name: str, family: MeasuredFamily) -> dict[str, Floats]:
    from sklearn.ensemble import GradientBoostingRegressor

    fitted = fit_family(name, family.components, family.label_ms, work_of, LIMITS, seed=0)
    drivers, folds = drivers_of(family.components, work_of), fold_numbers(family.components, seed=0)
    features, roofline, boosting = drivers.features(), np.empty(len(folds)), np.empty(len(folds))
    for fold in range(FOLDS):
        held = folds == fold
        roofline[held] = fitted.fold_cores[fold].roofline.predict(drivers.take(np.flatnonzero(held)))
        trees = GradientBoostingRegressor(n_estimators=120, learning_rate=0.08, max_depth=4, random_state=0)
        trees.fit(features[~held], np.log(family.label_ms[~held]))
        boosting[held] = np.exp(trees.predict(features[held]))
    predicted = {"hybrid": fitted.held_out.predicted_ms, "roofline": roofline, "boosting": boosting}
    found = {one: np.abs(values / family.label_ms - 1) for one, values in predicted.items()}
    return {**found, "floor": np.abs(family.second_ms / family.label_ms - 1)}


def test_on_measured_rows_the_hybrid_beats_both_of_its_parents(errors: dict[str, Floats]) -> None:
    hybrid = errors["hybrid"].mean()
    assert hybrid < errors["roofline"].mean()
    assert hybrid < errors["boosting"].mean()


def test_on_rows_of_a_quiet_core_the_error_is_near_the_noise_floor(errors: dict[str, Floats]) -> None:
    assert errors["hybrid"].mean() <= max(0.06, 2.5 * errors["floor"].mean())


def test_the_data_hold_every_family_with_both_labels() -> None:
    families = measured_families()
    assert sum(len(family.components) for family in families.values()) > 200
    assert all((family.label_ms > 0).all() and (family.second_ms > 0).all() for family in families.values())
