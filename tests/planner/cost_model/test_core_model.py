import numpy as np
import pytest

from planner.cost_model.core_model import CoreModel, fit_core
from planner.cost_model.features import drivers_of
from planner.cost_model.roofline import PhysicalLimits
from representations.components import work_of
from tests.planner.cost_model.synthetic import linears, random_sizes, stepped_ms

LIMITS = PhysicalLimits(flops_per_s=2e12, bytes_per_s=2e12)
KNOWN = linears(random_sizes(24, 1), (1, 8, 64, 256))


@pytest.fixture(scope="module")
def core() -> CoreModel:
    return fit_core(drivers_of(KNOWN, work_of), np.array([stepped_ms(c) for c in KNOWN]), LIMITS, seed=0)


def test_measured_rows_lie_inside_and_larger_ones_by_their_doublings_outside(core: CoreModel) -> None:
    assert (core.doublings_outside(drivers_of(KNOWN, work_of)) == 0).all()
    outside = core.doublings_outside(drivers_of(linears([(64, 64)], (256, 1024)), work_of))
    assert outside[0] == 0
    assert outside[1] == pytest.approx(2, abs=0.01)


def test_work_beyond_any_measured_is_outside_though_each_size_is_within(core: CoreModel) -> None:
    sizes = drivers_of(KNOWN, work_of).dimensions_ND
    corner = linears([tuple(sizes.max(axis=0)[1:].astype(int).tolist())], (256,))
    assert core.doublings_outside(drivers_of(corner, work_of))[0] > 0


def test_far_outside_the_factor_is_one_that_nearby_rows_show(core: CoreModel) -> None:
    far = drivers_of(linears([(256, 256)], (2**22,)), work_of)
    factor = np.log(core.predict(far) / core.roofline.predict(far))[0]
    assert core.log_ratio_N.min() <= factor <= core.log_ratio_N.max()


def test_rows_at_measured_points_are_nearer_than_others(core: CoreModel) -> None:
    known = core.distance(drivers_of(KNOWN[:8], work_of))
    strange = core.distance(drivers_of(linears([(4096, 2)], (100,)), work_of))
    assert strange[0] > known.max()


def test_doubted_rows_bend_the_model_less() -> None:
    drivers, truth = drivers_of(KNOWN, work_of), np.array([stepped_ms(c) for c in KNOWN])
    is_slow = np.random.default_rng(3).random(len(truth)) < 0.25
    labels, doubt = np.where(is_slow, 1.6 * truth, truth), np.where(is_slow, 0.6, 0.0)
    blind = fit_core(drivers, labels, LIMITS, seed=0)
    told = fit_core(drivers, labels, LIMITS, seed=0, doubt_N=doubt)
    errors = [np.abs(core.predict(drivers) / truth - 1)[~is_slow].mean() for core in (blind, told)]
    assert errors[1] < 0.6 * errors[0]
