import json
from collections.abc import Sequence

import numpy as np
import pytest

from planner.cost_model.accuracy import pairs_in_order, rank_agreement, summarise_errors
from planner.cost_model.model import fit_device_model
from planner.cost_model.noise import noise_floor
from planner.cost_model.training_rows import training_rows
from planner.cost_model.validation import ValidationReport, validate
from planner.cost_model.whole_models import MeasuredModel
from profiles.component import Component
from profiles.errors import InputError, MeasurementError
from profiles.records import Latency
from representations.components import components_of, work_of
from representations.specs import Feature, ModelSpec, TableSpec
from tests.planner.cost_model.synthetic import linears, profile_of, profiles_of, random_sizes, stepped_ms


def latency(p25_ms: float) -> Latency:
    return Latency(p25_ms=p25_ms, median_ms=p25_ms, iqr_ms=0.0, n=9, visits=3)


def model_of(width: int) -> ModelSpec:
    return ModelSpec(
        name=f"width-{width}",
        dense_features=4,
        features=(Feature(name="a", cardinality=100),),
        embeddings=(TableSpec(dim=width),),
        bottom_mlp=(width,),
        top_mlp=(width, 1),
    )


def component_ms(component: Component) -> float:
    return 1e-3 + work_of(component).bytes_moved / 1e7


def swept(widths: Sequence[int], batches: Sequence[int]) -> set[Component]:
    return {one.component for width in widths for batch in batches for one in components_of(model_of(width), batch)}


def whole_model(width: int, batch: int) -> MeasuredModel:
    parts = components_of(model_of(width), batch)
    whole_ms = 1.1 * sum(component_ms(one.component) for one in parts)
    return MeasuredModel(spec=model_of(width), batch=batch, latency=latency(whole_ms))


@pytest.fixture(scope="module")
def report() -> ValidationReport:
    """Whole models that cost 10 % more than the sum of their components."""
    rows = [profile_of(c, component_ms(c)) for c in swept((8, 16, 32), (1, 256))]
    whole = [whole_model(width, batch) for width in (8, 16, 32) for batch in (1, 256)]
    return validate(fit_device_model(rows, work_of, seed=1), whole, seed=1)


def test_with_measured_components_the_context_is_all_that_is_predicted(report: ValidationReport) -> None:
    assert report.composed_known
    assert report.composed_known.errors.mape < 0.02
    assert report.composed_known.kendall_tau == pytest.approx(1.0)


def test_whole_models_are_composed_of_components_held_out(report: ValidationReport) -> None:
    assert report.composed
    assert report.composed_known
    assert report.composed.errors.mape > report.composed_known.errors.mape


def test_the_plain_sum_misses_what_only_whole_models_show() -> None:
    rows = [profile_of(c, component_ms(c)) for c in swept((8, 16, 24, 32, 48, 64), (1, 16, 256))]
    whole = [whole_model(width, batch) for width in (16, 32, 48) for batch in (1, 256)]
    report = validate(fit_device_model(rows, work_of), whole)
    assert report.composed
    assert report.composed_sum
    assert report.composed_sum.errors.bias < report.composed.errors.bias
    assert report.whole_model_coverage_90 == 1.0


def test_the_object_has_the_keys_that_scripts_rely_on(report: ValidationReport) -> None:
    body = json.loads(json.dumps(report.to_object(), allow_nan=False))
    assert {"median", "p90"} <= set(body["noise_floor"])
    assert {one["kind"] for one in body["components"]} == {"elementwise", "embedding", "interaction", "linear"}
    assert all({"mape", "p90", "within_10"} <= set(one) for one in body["components"])
    for name in ("composed", "composed_sum", "composed_known"):
        assert {"mape", "p90", "within_10", "kendall_tau"} <= set(body[name])
    assert 0 <= body["interval_coverage_90"] <= 1
    assert 0 <= body["whole_model_coverage_90"] <= 1


def test_points_hold_every_held_out_row_and_whole_model(report: ValidationReport) -> None:
    points = report.points
    assert points.columns == [
        "kind", "component", "batch", "measured_ms", "predicted_ms", "low_ms", "high_ms", "held_out",
    ]  # fmt: skip
    whole = points.filter(points["kind"] == "model")
    assert whole.height == 6
    assert whole["held_out"].all()
    assert "linear in_features=4 out_features=8" in points["component"].to_list()


def test_a_whole_model_is_not_held_out_where_a_component_of_it_is_not() -> None:
    rows = [profile_of(c, component_ms(c)) for c in swept((8,), (64,))]
    report = validate(fit_device_model(rows, work_of), [whole_model(8, 64)])
    whole = report.points.filter(report.points["kind"] == "model")
    assert whole["held_out"].to_list() == [False]
    assert "1 of 1 whole models hold components that could not be held out" in report.notes


def test_held_out_errors_are_near_the_noise_and_intervals_cover() -> None:
    profiles = profiles_of(linears(random_sizes(24, 1)), stepped_ms, noise=0.02)
    report = validate(fit_device_model(profiles, work_of), ())
    assert report.components[0].errors.mape < 0.12
    assert report.interval_coverage_90 == pytest.approx(0.9, abs=0.06)
    assert report.to_object()["composed"]["mape"] is None


def test_a_thorough_validation_looks_beyond_the_rows() -> None:
    profiles = profiles_of(linears(random_sizes(12, 1), (1, 64, 512)), stepped_ms, noise=0.02)
    report = validate(fit_device_model(profiles, work_of), (), thorough=True)
    body = json.loads(json.dumps(report.to_object(), allow_nan=False))
    assert set(body["extrapolation"]) == {"rows", "mape", "flagged_share", "coverage"}
    assert body["extrapolation"]["rows"] == report.beyond.height > 0
    assert set(body["points_for_10_percent"]) == {"linear"}
    assert body["skewed_ids_mape"] is None
    assert report.learning_curve.height == len(report.curve) > 0


def test_a_single_row_cannot_be_held_out() -> None:
    report = validate(fit_device_model(profiles_of(linears([(8, 8)], (1,))), work_of), ())
    assert report.components == ()
    assert report.interval_coverage_90 is None


def test_the_noise_floor_is_the_difference_to_a_second_measurement() -> None:
    rows = training_rows(profiles_of(linears(random_sizes(20, 1))))

    def remeasure(components: Sequence[Component]) -> list[Latency | None]:
        first = dict(zip(rows.components, rows.label_ms.tolist(), strict=True))
        return [None, *(latency(1.03 * first[component]) for component in components[1:])]

    floor = noise_floor(rows, remeasure, seed=0, subset=10)
    assert (floor.rows, floor.source) == (9, "a second measurement")
    assert floor.median == floor.bias == pytest.approx(0.03)


@pytest.mark.parametrize(("pace", "said"), [(1.5, ["50 % slower"]), (0.8, ["20 % faster"]), (1.05, [])])
def test_a_second_measurement_at_another_pace_is_told(pace: float, said: list[str]) -> None:
    rows = profiles_of(linears([(8, 8), (16, 16)]))
    known = {(row.spec, row.batch): row.warm.p25_ms for row in rows if row.warm}

    def remeasure(components: Sequence[Component]) -> list[Latency | None]:
        return [latency(pace * known[one.spec(), one.batch]) for one in components]

    notes = validate(fit_device_model(rows, work_of), (), remeasure=remeasure).notes
    told = [note for note in notes if note.startswith("measured a second time, ")]
    assert [note.split("were ")[1].split(" (")[0] for note in told] == said


def test_the_noise_floor_falls_back_on_the_scatter_within_measurements() -> None:
    rows = training_rows([profile_of(component, 1.0, relative_iqr=0.1) for component in linears([(8, 8)])])
    assert noise_floor(rows, seed=0).median == pytest.approx(0.05)


def test_a_second_measurement_without_a_result_is_an_error() -> None:
    rows = training_rows(profiles_of(linears([(8, 8)])))
    with pytest.raises(MeasurementError, match=r"none of 5 components"):
        noise_floor(rows, lambda components: [None] * len(components), seed=0)


def test_errors_are_fractions_relative_to_the_measurement() -> None:
    errors = summarise_errors(np.array([1.0, 2.0, 4.0]), np.array([1.1, 2.0, 3.0]))
    assert errors.mape == pytest.approx(0.35 / 3)
    assert errors.median == pytest.approx(0.1)
    assert errors.bias == pytest.approx(-0.05)
    assert summarise_errors(np.ones(1), np.ones(1)).within_10 == 1
    with pytest.raises(InputError, match=r"at least one row"):
        summarise_errors(np.array([]), np.array([]))


def test_ranks_are_compared_at_equal_batch_only() -> None:
    measured, predicted = np.array([1.0, 2.0, 10.0, 20.0]), np.array([2.0, 1.0, 20.0, 10.0])
    assert rank_agreement([1, 1, 8, 8], measured, predicted) == pytest.approx(-1)
    assert rank_agreement([1, 2, 3, 4], measured, predicted) is None


def test_only_pairs_that_are_apart_are_compared() -> None:
    batches, measured, predicted = [1, 1, 1, 8], np.array([1.0, 1.02, 2.0, 9.0]), np.array([1.5, 1.0, 1.2, 1.0])
    # 1.0 and 1.02 are too close; 1.0 and 2.0 are put in the wrong order, 1.02 and 2.0 in the right one.
    assert pairs_in_order(batches, measured, predicted, apart=0.05) == (2, 0.5)
    assert pairs_in_order([1, 2, 3, 8], measured, predicted, apart=0.05) == (0, None)
