from dataclasses import replace

import pytest

from planner.cost_model.component_errors import REST, ComponentError, ComponentErrors, component_errors, profile_in_situ
from planner.cost_model.composition import CostModel
from planner.cost_model.containers import containers_of
from planner.cost_model.context import Context
from planner.cost_model.model import fit_device_model
from profiles.errors import InputError
from profiles.model_profile import ModelProfile
from profiles.profile_options import ProfileOptions
from representations.components import components_of, work_of
from tests.planner.cost_model.synthetic import profiles_of
from tests.planner.cost_model.test_composition import SPEC

BATCH = 16


@pytest.fixture(scope="module")
def cost_model() -> CostModel:
    components = sorted({one.component for one in components_of(SPEC, BATCH)}, key=lambda one: one.spec())
    return CostModel(models={"cpu": fit_device_model(profiles_of(components), work_of)})


@pytest.fixture(scope="module")
def profile() -> ModelProfile:
    return profile_in_situ(SPEC, BATCH, options=ProfileOptions(threads=1, visits=3, budget_s=0.0))


def test_every_component_of_a_real_model_stands_beside_its_prediction(
    cost_model: CostModel, profile: ModelProfile
) -> None:
    errors = component_errors(cost_model, SPEC, profile, "cpu")
    assert [row.path for row in errors.rows[:-1]] == [one.path for one in components_of(SPEC, BATCH)]
    assert all(row.measured_ms > 0 and row.predicted_ms > 0 for row in errors.rows[:-1])
    assert errors.rows[-1].kind == REST
    assert sum(row.measured_ms for row in errors.rows) == pytest.approx(errors.measured_ms)
    assert sum(row.predicted_ms for row in errors.rows) == pytest.approx(errors.predicted_ms)


def test_what_a_context_adds_for_containers_stands_outside_the_components(
    cost_model: CostModel, profile: ModelProfile
) -> None:
    alone = component_errors(cost_model, SPEC, profile, "cpu")
    context = Context(per_component_ms=0.5, per_container_ms=2.0)
    errors = component_errors(replace(cost_model, contexts={"cpu": context}), SPEC, profile, "cpu")
    containers = {path for one in errors.rows[:-1] for path in containers_of(one.path)}
    assert containers
    assert errors.rows[-1].predicted_ms == pytest.approx(2.0 * len(containers))
    for row, plain in zip(errors.rows[:-1], alone.rows[:-1], strict=True):
        assert row.predicted_ms == pytest.approx(plain.predicted_ms + 0.5)
    assert sum(row.predicted_ms for row in errors.rows) == pytest.approx(errors.predicted_ms)


def test_the_total_is_that_of_the_model_while_nothing_is_watched(cost_model: CostModel, profile: ModelProfile) -> None:
    """The lower of its time alone and that of the passes between the watched ones, where a profile has these."""
    model = profile.rows[0]
    assert model.warm
    alone_ms = model.warm.p25_ms
    assert profile.costs["forward_p25_ms"] > 0
    for costs, total_ms in (({}, alone_ms), ({"forward_p25_ms": alone_ms / 2}, alone_ms / 2)):
        known = replace(profile, costs=costs)
        assert component_errors(cost_model, SPEC, known, "cpu").measured_ms == total_ms
    slower = replace(profile, costs={"forward_p25_ms": 2 * alone_ms})
    assert component_errors(cost_model, SPEC, slower, "cpu").measured_ms == alone_ms


def test_errors_that_cancel_show_in_the_gross_error() -> None:
    rows = (
        ComponentError(path="a", kind="linear", measured_ms=1.0, predicted_ms=2.0),
        ComponentError(path="b", kind="embedding", measured_ms=3.0, predicted_ms=2.0),
        ComponentError(path="c", kind="linear", measured_ms=1.0, predicted_ms=1.5),
    )
    errors = ComponentErrors(batch=1, measured_ms=5.0, predicted_ms=5.5, rows=rows)
    assert errors.error == pytest.approx(0.1)
    assert errors.gross_error == pytest.approx(0.5)
    assert errors.cancelled == pytest.approx(0.4)
    assert [(row.kind, row.difference_ms) for row in errors.by_kind()] == [("linear", 1.5), ("embedding", -1.0)]


def test_another_models_profile_is_refused(cost_model: CostModel, profile: ModelProfile) -> None:
    other = ModelProfile(rows=profile.rows[:1], profile_seconds=0.0)
    with pytest.raises(InputError, match=r"profile of 'small': has no in-situ time of component 'bottom_mlp.0'"):
        component_errors(cost_model, SPEC, other, "cpu")
