import json

import pytest

from planner.mapping.preset_plans import preset_plans
from serving_sim.presets import PRESETS, preset_body
from tests.serving_sim.test_golden import assert_same


def test_the_shipped_presets_are_what_the_generator_makes() -> None:
    made = {plan.name: json.loads(json.dumps(plan.to_object())) for plan in preset_plans()}
    assert tuple(sorted(made)) == PRESETS
    for name in PRESETS:
        assert_same(made[name], preset_body(name))


@pytest.mark.parametrize("name", PRESETS)
def test_every_latency_of_a_preset_is_said_to_be_estimated(name: str) -> None:
    assert {path["provenance"] for path in preset_body(name)["paths"]} == {"estimated"}
