import math
from dataclasses import replace

import pytest

from planner.cost_model.training_rows import component_of, limits_of, training_rows
from profiles.errors import InputError
from profiles.records import ComponentProfile
from tests.planner.cost_model.synthetic import FINGERPRINT, linears, profile_of

COMPONENT = linears([(64, 32)], (16,))[0]


def with_warm(p25_ms: float) -> ComponentProfile:
    return profile_of(COMPONENT, p25_ms)


def test_a_profile_gives_its_component_back() -> None:
    assert component_of(with_warm(1.0)) == COMPONENT


@pytest.mark.parametrize("spec", ["Linear(in_features=3)", "[1]", '{"kind": "linear"}'])
def test_a_spec_that_is_no_component_is_named(spec: str) -> None:
    with pytest.raises(InputError, match=r"its spec describes no component"):
        component_of(replace(with_warm(1.0), spec=spec))


def test_without_a_measured_row_there_is_nothing_to_fit() -> None:
    skipped = with_warm(1.0).skipped("too large")
    with pytest.raises(InputError, match=r"no measured component"):
        training_rows([skipped, replace(with_warm(1.0), warm=None), replace(with_warm(1.0), kind="model")])


def test_rows_of_another_setup_are_refused_by_what_differs() -> None:
    other = replace(FINGERPRINT, threads=2, timestamp="later")
    with pytest.raises(InputError, match=r"threads 2 against 1$"):
        training_rows([with_warm(1.0), profile_of(COMPONENT, 1.0, fingerprint=other)])


def test_contradictory_duplicates_become_their_median_with_a_note() -> None:
    rows = training_rows([with_warm(1.0), with_warm(3.0), with_warm(1.1)])
    assert rows.label_ms.tolist() == [1.1]
    assert len(rows.notes) == 1
    assert "more than 10 % apart (up to a factor of 3.00); their median counts for less" in rows.notes[0]
    assert rows.doubt.tolist() == pytest.approx([2.0])


def test_labels_are_doubted_as_far_as_their_visits_are_apart() -> None:
    wide, narrow = linears([(64, 32), (64, 16)], (16,))
    apart = replace(profile_of(wide, 1.0), figures={"visits_apart": 0.2})
    rows = training_rows([apart, profile_of(narrow, 1.0)])
    assert dict(zip(rows.components, rows.doubt.tolist(), strict=True)) == {wide: 0.2, narrow: 0.0}
    assert rows.notes == ("1 of 2 rows rest on visits more than 5 % apart (up to 20 %), and count for less",)


def test_contention_is_noted() -> None:
    profile = with_warm(1.0)
    assert profile.warm
    contended = replace(profile, warm=replace(profile.warm, wall_over_cpu=1.4))
    assert training_rows([contended]).notes == ("1 of 1 rows were measured while other work held the processor",)


@pytest.mark.parametrize("latency", [0.0, -1.0, math.nan, math.inf])
def test_a_latency_that_is_none_is_refused(latency: float) -> None:
    with pytest.raises(InputError, match=r"warm latency must be finite and > 0"):
        training_rows([with_warm(latency)])


def test_limits_follow_threads_on_a_processor_and_are_wide_on_an_accelerator() -> None:
    assert limits_of(replace(FINGERPRINT, threads=4)).flops_per_s == 8e12
    assert limits_of(replace(FINGERPRINT, device="h200")).flops_per_s == 1e16
