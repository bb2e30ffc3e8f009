import numpy as np
import pytest

from planner.cost_model.model import FittedDeviceModel, fit_device_model
from planner.cost_model.plausibility import require_possible
from planner.cost_model.training_rows import limits_of, training_rows
from profiles.component import Component, make_component
from profiles.errors import InputError
from representations.components import work_of
from tests.planner.cost_model.synthetic import FINGERPRINT, linears, profile_of, random_sizes, roofline_ms

KNOWN = linears(random_sizes(8, 1))
TABLE = make_component("embedding", 4096, {"rows": 10**6, "dim": 64, "pooling": 8.0, "zipf": 0.0, "backend": "torch"})


def fitted(factor: float = 1.0) -> FittedDeviceModel:
    return fit_device_model([profile_of(c, roofline_ms(c) * factor) for c in KNOWN], work_of)


@pytest.mark.parametrize(
    ("component", "latency_ms", "message"),
    [
        (
            linears([(4096, 4096)], (4096,))[0],
            1e-3,
            r"linear at batch 4096: 0\.001 ms would be .* FLOP/s, beyond the 2",
        ),
        (TABLE, 2e-3, r"embedding\(torch\) at batch 4096: 0\.002 ms would be .* bytes/s, beyond the 2e\+12"),
        (linears([(8, 8)], (1,))[0], 5e-6, r"5e-06 ms is less than the 0\.0001 ms that any call takes: is it in ms"),
    ],
)
def test_what_no_device_can_do_is_refused(component: Component, latency_ms: float, message: str) -> None:
    rows = training_rows([profile_of(component, latency_ms)])
    with pytest.raises(InputError, match=message):
        require_possible(rows, work_of, limits_of(FINGERPRINT))


def test_latencies_a_thousand_times_too_short_are_refused_and_too_long_ones_warned_of() -> None:
    with pytest.raises(InputError, match=r"beyond the|is it in ms"):
        fitted(1e-3)
    assert any("of 40 rows are slower than any device should be" in note for note in fitted(1e3).notes)
    assert not any("slower than any device" in note for note in fitted().notes)


def test_a_few_rows_in_another_unit_are_told_by_their_distance_from_the_others() -> None:
    latencies = np.array([roofline_ms(c) for c in KNOWN])
    latencies[[3, 17]] *= 1000
    model = fit_device_model([profile_of(c, x) for c, x in zip(KNOWN, latencies.tolist(), strict=True)], work_of)
    assert "rows more than 7 times off their family's roofline: linear (2)" in model.notes
    asked = linears([(100, 100)], (32,))
    assert model.predict(asked).mean_ms[0] == pytest.approx(roofline_ms(asked[0]), rel=0.3)


def test_a_size_that_never_varies_is_named_and_other_values_are_extrapolated() -> None:
    known = linears([(64, n) for n in (8, 16, 32)])
    model = fit_device_model([profile_of(c, roofline_ms(c)) for c in known], work_of)
    assert "measured at one value alone, so that others are extrapolated: linear (in_features)" in model.notes
    assert model.predict(linears([(128, 16)], (8,))).extrapolated[0]
    assert not any("one value alone" in note for note in fitted().notes)


def test_contradictory_rows_are_warned_of_by_their_spread_and_count_as_their_median() -> None:
    rows = [profile_of(c, roofline_ms(c) * factor) for c in KNOWN for factor in (1.0, 1.0, 4.0)]
    model = fit_device_model(rows, work_of)
    assert any("40 components were measured more than once" in note and "4.00" in note for note in model.notes)
    assert model.predict(KNOWN[:1]).mean_ms[0] == pytest.approx(roofline_ms(KNOWN[0]))


def test_a_latency_that_never_varies_is_doubted() -> None:
    model = fit_device_model([profile_of(c, 50.0) for c in KNOWN], work_of)
    assert "one latency at every size: linear: is it a measurement?" in model.notes
    assert not any("one latency" in note for note in fitted().notes)


@pytest.mark.parametrize(("tables", "is_told"), [(1, True), (26, False)])
def test_a_group_may_take_a_slow_call_for_each_of_its_tables(tables: int, is_told: bool) -> None:
    shape = {**dict(TABLE.shape), "tables": tables, "backend": "torchrec"}
    notes = fit_device_model([profile_of(make_component("embedding_group", 1, shape), 2.4)], work_of).notes
    assert any("slower than any device" in note for note in notes) == is_told
