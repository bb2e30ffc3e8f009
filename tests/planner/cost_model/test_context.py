import numpy as np
import pytest

from planner.cost_model.context import IDENTITY, fit_context

ALONE = np.array([0.1, 1.0, 10.0, 0.2, 2.0, 20.0])
COUNTS = [10, 10, 10, 40, 40, 40]


def test_a_known_context_is_recovered() -> None:
    context = fit_context(1.2 * ALONE + 0.01 * np.array(COUNTS), ALONE, COUNTS)
    assert context.stretch == pytest.approx(1.2, rel=0.01)
    assert context.per_component_ms == pytest.approx(0.01, rel=0.02)


def test_models_that_cost_their_sum_need_none() -> None:
    context = fit_context(ALONE, ALONE, COUNTS)
    assert context.stretch == pytest.approx(1.0)
    assert context.per_component_ms == pytest.approx(0.0, abs=1e-9)


def test_few_models_teach_nothing() -> None:
    assert fit_context(2 * ALONE[:3], ALONE[:3], COUNTS[:3]) == IDENTITY
