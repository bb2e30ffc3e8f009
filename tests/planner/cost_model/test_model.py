from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.cost_model.features import drivers_of
from planner.cost_model.host_inputs import HostInputs
from planner.cost_model.model import FittedDeviceModel, fit_device_model
from profiles.component import Component, make_component
from profiles.errors import UnknownNameError
from profiles.hardware import get_hardware, local_cpu
from representations.components import work_of
from tests.planner.cost_model.synthetic import (
    BATCHES,
    FINGERPRINT,
    linears,
    profile_of,
    profiles_of,
    random_sizes,
    roofline_ms,
    stepped_ms,
)

UNSEEN = linears(random_sizes(40, 2), (3, 100, 2000))


@pytest.fixture(scope="module")
def stepped() -> FittedDeviceModel:
    return fit_device_model(profiles_of(linears(random_sizes(24, 1)), stepped_ms, noise=0.02), work_of)


def errors_of(predicted: np.ndarray) -> float:
    truth = np.array([stepped_ms(component) for component in UNSEEN])
    return float(np.mean(np.abs(predicted / truth - 1)))


def test_the_hybrid_beats_both_of_its_parents_on_unseen_shapes(stepped: FittedDeviceModel) -> None:
    from sklearn.ensemble import GradientBoostingRegressor

    boosted = GradientBoostingRegressor(n_estimators=200, max_depth=4, random_state=0)
    boosted.fit(drivers_of(stepped.rows.components, work_of).features(), np.log(stepped.rows.label_ms))
    drivers = drivers_of(UNSEEN, work_of)
    hybrid = errors_of(stepped.predict(UNSEEN).mean_ms)
    assert hybrid < errors_of(stepped.families["linear"].core.roofline.predict(drivers))
    assert hybrid < errors_of(np.exp(boosted.predict(drivers.features())))


def test_an_exact_hit_is_the_measurement_itself(stepped: FittedDeviceModel) -> None:
    estimates = stepped.predict(stepped.rows.components[:3])
    assert estimates.mean_ms.tolist() == stepped.rows.label_ms[:3].tolist()
    assert set(estimates.provenance) == {"measured"}


def test_intervals_hold_the_mean_and_cover_most_unseen_truths(stepped: FittedDeviceModel) -> None:
    estimates = stepped.predict(UNSEEN)
    truth = np.array([stepped_ms(component) for component in UNSEEN])
    assert (estimates.low_ms <= estimates.mean_ms).all()
    assert (estimates.mean_ms <= estimates.high_ms).all()
    assert np.mean((estimates.low_ms <= truth) & (truth <= estimates.high_ms)) > 0.85


def test_beyond_the_measured_range_the_prediction_is_flagged_and_wider(stepped: FittedDeviceModel) -> None:
    inside, outside = (stepped.predict(linears([(size, size)], (256,))) for size in (128, 16_384))
    assert not inside.extrapolated[0]
    assert outside.extrapolated[0]
    assert outside.high_ms[0] / outside.mean_ms[0] > inside.high_ms[0] / inside.mean_ms[0]


def test_far_beyond_the_range_the_roofline_leads(stepped: FittedDeviceModel) -> None:
    far = linears([(16_384, 16_384)], (4096,))
    truth = 1.5 * roofline_ms(far[0])
    assert stepped.predict(far).mean_ms[0] == pytest.approx(truth, rel=0.5)


def test_the_order_of_the_rows_changes_nothing() -> None:
    profiles = profiles_of(linears(random_sizes(4, 1), (1, 64)), stepped_ms, noise=0.02)
    one, other = (fit_device_model(rows, work_of).predict(UNSEEN) for rows in (profiles, profiles[::-1]))
    assert one.mean_ms.tolist() == other.mean_ms.tolist()


@settings(deadline=None, max_examples=15)
@given(order=st.permutations(range(8)), batch=st.integers(1, 10**6))
def test_predictions_are_positive_and_follow_the_order_asked(
    stepped: FittedDeviceModel, order: list[int], batch: int
) -> None:
    components = linears([(2**i, 2**i) for i in range(1, 9)], (batch,))
    straight = stepped.predict(components).mean_ms
    shuffled = stepped.predict([components[i] for i in order]).mean_ms
    assert (straight > 0).all()
    np.testing.assert_allclose(shuffled, straight[order], rtol=1e-9)


def test_an_unseen_kind_names_itself_and_the_known_ones(stepped: FittedDeviceModel) -> None:
    relu = make_component("elementwise", 8, {"function": "relu", "width": 8})
    with pytest.raises(UnknownNameError, match=r"unknown name 'elementwise\(relu\)'.*known: linear"):
        stepped.predict([relu])


def test_with_few_rows_a_roofline_alone_is_fitted_and_said() -> None:
    model = fit_device_model(profiles_of(linears([(64, 64)])), work_of)
    assert model.families["linear"].core.residual is None
    assert "fewer than 8 rows, so a roofline alone: linear (5)" in model.notes
    predicted = model.predict(linears([(64, 64)], (200,))).mean_ms[0]
    assert predicted == pytest.approx(roofline_ms(linears([(64, 64)], (200,))[0]), rel=0.1)


def test_a_single_row_predicts_with_a_wide_interval() -> None:
    model = fit_device_model(profiles_of(linears([(64, 64)], (8,))), work_of)
    estimates = model.predict(linears([(64, 64)], (9,)))
    assert estimates.high_ms[0] / estimates.mean_ms[0] >= 2


def test_rows_with_one_constant_column_and_equal_latencies_fit() -> None:
    model = fit_device_model([profile_of(c, 1.0) for c in linears([(8, 8)], tuple(range(1, 10)))], work_of)
    assert model.predict(linears([(8, 8)], (12,))).mean_ms[0] == pytest.approx(1.0, rel=0.05)


def test_the_scatter_is_that_of_whole_models_where_there_are_any() -> None:
    rows = [profile_of(c, 1.0, relative_iqr=0.1) for c in linears([(8, 8)])]
    whole = profile_of(make_component("model", 1, {"name": "m", "digest": "d"}), 1.0, relative_iqr=0.5)
    alone, beside = fit_device_model(rows, work_of), fit_device_model([*rows, whole], work_of)
    assert alone.scatter.sigma == pytest.approx(np.log(1 + 0.1 * 1.05) / 1.349)
    assert beside.scatter.sigma == pytest.approx(np.log(1 + 0.5 * 1.25) / 1.349)
    assert beside.rows.components == alone.rows.components


def test_whole_models_timed_as_they_come_set_the_scatter_and_are_no_components() -> None:
    rows = [profile_of(c, 1.0, relative_iqr=0.1) for c in linears([(8, 8)])]
    label, usual = (
        profile_of(make_component(kind, 1, {"name": "m", "digest": "d"}), latency_ms, relative_iqr=0.4)
        for kind, latency_ms in (("model", 1), ("served_model", 2))
    )
    model = fit_device_model([*rows, label, usual], work_of)
    assert model.scatter.median_over_label == pytest.approx(2, rel=0.2)
    assert {component.kind for component in model.rows.components} == {"linear"}


def test_a_measured_accelerator_keeps_its_host_link_and_this_machine_has_none() -> None:
    here = fit_device_model(profiles_of(linears([(8, 8)])), work_of, hardware=local_cpu())
    there = replace(here, hardware=get_hardware("v100"))
    inputs = [HostInputs(batch=8, tables=4, sent_bytes=sent_bytes) for sent_bytes in (0.0, 12e6)]
    assert here.transfer(inputs).mean_ms.tolist() == [0.0, 0.0]
    trips = there.transfer(inputs)
    np.testing.assert_allclose(trips.mean_ms, [0.01, 1.01])
    assert trips.provenance == ("estimated", "estimated")


@pytest.mark.parametrize("layouts", [("combined",), ("per_table",), ("per_table", "combined")])
def test_measured_copies_replace_the_published_link(layouts: tuple[str, ...]) -> None:
    """20 us of launches for each tensor and 5 GB/s, where v100's published link has 10 us and 12 GB/s."""
    copies = [copy(batch, tables, one) for batch in BATCHES for tables in (4, 16) for one in layouts]
    v100 = replace(FINGERPRINT, device="v100")
    profiles = [profile_of(one, copied_ms(one), fingerprint=v100) for one in copies]
    model = fit_device_model(profiles, work_of, hardware=get_hardware("v100"))
    layout = layouts[-1]
    known, new = (HostInputs(batch=64, tables=tables, sent_bytes=128.0 * tables * 8) for tables in (4, 8))
    trips = model.transfer([known, new])
    truth_ms = [copied_ms(copy(64, tables, layout)) for tables in (4, 8)]
    assert trips.provenance == ("measured", "predicted")
    np.testing.assert_allclose(trips.mean_ms, truth_ms, rtol=0.15)
    assert trips.low_ms[1] < trips.mean_ms[1] < trips.high_ms[1]
    words = {"combined": "one tensor for all", "per_table": "two tensors for each table"}[layout]
    assert f"inputs reach it as {words}, predicted from 10 measured copies" in model.notes


def copy(batch: int, tables: int, layout: str) -> Component:
    return make_component("host_to_device", batch, {"tables": tables, "ids_per_table": batch, "layout": layout})


def copied_ms(component: Component) -> float:
    launches = 2 * int(component["tables"]) if component["layout"] == "per_table" else 1
    return 0.02 * launches + work_of(component).input_bytes / 5e9 * 1e3
