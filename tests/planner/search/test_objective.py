import math

import pytest

from planner.search import Predicted
from planner.search.objective import (
    directions,
    format_cost,
    infeasible_reason,
    objective_costs,
    predicted_costs,
    violations,
)
from profiles.errors import InputError, UnknownNameError

COSTS = {"latency_ms": 3.1, "parameter_bytes": 9_000_000.0, "flops": 10.0}


def test_what_should_be_high_is_maximised() -> None:
    assert directions(("auc", "latency_ms")) == ["maximize", "minimize"]
    assert objective_costs({"auc": 0.7, "latency_ms": 2.0}, ("auc", "latency_ms")) == [-0.7, 2.0]


def test_the_reason_names_each_broken_limit() -> None:
    limits = {"latency_ms": 2.0, "parameter_bytes": 8e6, "flops": 10.0}
    reason = infeasible_reason(COSTS, limits)
    assert reason == "latency_ms 3.1 > 2, parameter_bytes 9,000,000 > 8,000,000 (predicted)"
    assert [name for name, excess in violations(COSTS, limits).items() if excess > 0] == [
        "latency_ms",
        "parameter_bytes",
    ]


def test_a_cost_at_its_limit_is_feasible() -> None:
    assert not infeasible_reason(COSTS, {"flops": 10.0})
    assert violations(COSTS, {"flops": 10.0}) == {"flops": 0.0}


def test_latency_is_judged_on_the_asked_device() -> None:
    predicted = Predicted(latency_ms={"cpu": 1, "gpu": 2}, parameter_bytes=8, flops=4)
    assert predicted_costs(predicted, "gpu")["latency_ms"] == 2
    with pytest.raises(UnknownNameError, match="'tpu'"):
        predicted_costs(predicted, "tpu")


@pytest.mark.parametrize("latency_ms", [math.nan, math.inf, -1.0])
def test_a_prediction_that_is_no_cost_is_refused(latency_ms: float) -> None:
    with pytest.raises(InputError, match=r"latency_ms\[cpu\]"):
        Predicted(latency_ms={"cpu": latency_ms}, parameter_bytes=1, flops=1)


def test_an_infinite_value_can_be_shown() -> None:
    assert format_cost(math.inf) == "inf"
