from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from planner.cost_model.context import IDENTITY, Context, WholeSums, fit_context, leave_one_model_out
from planner.cost_model.estimates import Estimates, Floats
from planner.cost_model.pass_counts import PassCounts

ALONE = np.outer([1.0, 2.0, 1.5, 0.5], [0.1, 1.0, 10.0]).ravel()
COUNTS = np.repeat([10.0, 40.0, 20.0, 15.0], 3)
CONTAINERS = np.repeat([2.0, 3.0, 9.0, 4.0], 3)
MODELS = np.repeat(np.arange(4), 3)


def sums_of(
    measured: Floats,
    alone: Floats = ALONE,
    counts: Floats = COUNTS,
    models: NDArray[np.int64] = MODELS,
    **others: Floats,
) -> WholeSums:
    return WholeSums(
        measured_ms=measured,
        alone_ms=alone,
        low_ms=alone / 1.01,
        high_ms=alone * 1.01,
        counts=counts_of(components=counts, **others),
        models_N=models,
    )


def counts_of(components: Floats, **others: Floats) -> PassCounts:
    zeros = {one.name: np.zeros(len(components)) for one in fields(PassCounts)}
    return PassCounts(**{**zeros, "components": components, **others})


def noisy_sums(models: int, seed: int) -> WholeSums:
    """Every model is off by a factor of its own, far more than its components' intervals say."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(models), 4)
    alone = np.tile([0.1, 0.3, 1.0, 3.0], models)
    off = np.exp(rng.normal(0, 0.1, models))[numbers]
    return sums_of(1.5 * alone * off, alone, np.full(len(alone), 20.0), numbers)


def test_a_known_context_is_recovered() -> None:
    context = fit_context(sums_of(1.2 * ALONE + 0.01 * COUNTS))
    assert context.stretch == pytest.approx(1.2, rel=0.01)
    assert context.per_component_ms == pytest.approx(0.01, rel=0.02)


def test_what_containers_cost_is_told_from_what_components_cost() -> None:
    context = fit_context(sums_of(1.1 * ALONE + 0.002 * COUNTS + 0.03 * CONTAINERS, containers=CONTAINERS))
    assert context.per_container_ms == pytest.approx(0.03, rel=0.05)
    assert context.per_component_ms == pytest.approx(0.002, rel=0.05)


def test_what_displaced_tables_cost_is_recovered() -> None:
    displaced = np.outer([1.0, 2.0, 0.3, 4.0], [0.0, 1e5, 5e6]).ravel()
    context = fit_context(sums_of(1.1 * ALONE + 0.005 * COUNTS + 2e-7 * displaced, displaced_bytes=displaced))
    assert context.per_displaced_byte_ms == pytest.approx(2e-7, rel=0.03)
    assert context.stretch == pytest.approx(1.1, rel=0.01)


def test_what_cold_code_and_activations_cost_is_recovered() -> None:
    rng = np.random.default_rng(0)
    alone, moved = np.exp(rng.uniform(-2, 3, 40)), np.exp(rng.uniform(8, 18, 40))
    families, distance = rng.integers(2, 12, (2, 40)).astype(np.float64)
    kept = np.minimum(moved, 2e6)
    measured = 1.1 * alone + 0.02 * families + 0.004 * distance + 1e-7 * moved + 5e-7 * kept
    counts = {"families": families, "code_distance": distance, "traffic_bytes": moved, "kept_bytes": kept}
    context = fit_context(sums_of(measured, alone, np.zeros(40), np.repeat(np.arange(10), 4), **counts))
    found = (
        context.stretch,
        context.per_family_ms,
        context.per_distance_ms,
        context.per_byte_ms,
        context.per_kept_byte_ms,
    )
    assert found == pytest.approx((1.1, 0.02, 0.004, 1e-7, 5e-7), rel=0.05)


def test_models_that_cost_their_sum_need_none() -> None:
    context = fit_context(sums_of(ALONE))
    assert context.stretch == pytest.approx(1.0)
    assert context.per_component_ms == pytest.approx(0.0, abs=1e-9)
    assert context.half_width == pytest.approx(0.01)


def test_few_models_teach_nothing() -> None:
    assert fit_context(sums_of(2 * ALONE).take(np.arange(12) < 3)) == IDENTITY


def test_two_models_teach_what_calls_cost_and_no_more() -> None:
    two = sums_of(1.2 * ALONE + 0.01 * COUNTS, families=COUNTS).take(MODELS < 2)
    context = fit_context(two)
    assert context.per_component_ms == pytest.approx(0.01, rel=0.05)
    assert context.per_family_ms == 0


def test_counts_that_do_not_help_models_left_out_are_not_weighed() -> None:
    rng = np.random.default_rng(1)
    measured = (1.1 * ALONE + 0.02 * CONTAINERS) * np.exp(rng.normal(0, 0.05, len(ALONE)))
    noise = rng.uniform(0, 1, (2, len(ALONE)))
    context = fit_context(sums_of(measured, containers=CONTAINERS, families=noise[0], traffic_bytes=noise[1]))
    assert context.per_container_ms == pytest.approx(0.02, rel=0.3)
    assert (context.per_family_ms, context.per_byte_ms) == (0, 0)


def test_intervals_widen_until_they_cover_nine_in_ten_models_left_out() -> None:
    covered = []
    for seed in range(10):
        sums = noisy_sums(20, seed)
        _, low, high = leave_one_model_out(sums, fit_context)
        covered.append(np.mean((low <= sums.measured_ms) & (sums.measured_ms <= high)))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.05)


def test_a_model_left_out_teaches_its_own_prediction_nothing() -> None:
    sums = noisy_sums(5, 0)
    first = sums.models_N == 0
    changed = sums_of(
        np.where(first, 9.0, 1.0) * sums.measured_ms, sums.alone_ms, sums.counts.components, sums.models_N
    )
    mean, other = (leave_one_model_out(one, fit_context)[0] for one in (sums, changed))
    np.testing.assert_array_equal(mean[first], other[first])
    assert (mean[~first] != other[~first]).all()


def test_placed_components_carry_the_width_of_the_whole() -> None:
    alone = Estimates(
        mean_ms=np.array([1.0]),
        low_ms=np.array([0.5]),
        high_ms=np.array([2.0]),
        provenance=("measured",),
        extrapolated=np.array([False]),
    )
    context = Context(stretch=2.0, per_component_ms=0.1, per_displaced_byte_ms=0.01, half_width=np.log(2))
    counts = counts_of(np.array([1.0]), containers=np.array([0.5]), displaced_bytes=np.array([10.0]))
    placed = replace(context, per_container_ms=0.2).place(alone, counts)
    bounds = (placed.low_ms[0], placed.mean_ms[0], placed.high_ms[0])
    assert bounds == pytest.approx((0.65, 2.3, 8.6))
    assert placed.provenance == ("predicted",)
