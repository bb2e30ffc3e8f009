"""A fixed plan and seed give the stored trace; `python -m tests.serving_sim.test_golden` stores it anew."""

import json
from pathlib import Path
from typing import Any

import pytest

from serving_sim.engine import simulate, trace_run
from serving_sim.plan import Plan, load_plan

FOLDER = Path(__file__).parent / "golden"
POLICIES = ("static", "table-switch", "mp-rec")


def golden_plan() -> Plan:
    return load_plan(FOLDER / "plan.json")


def golden_object(plan: Plan, policy: str) -> dict[str, Any]:
    traced, result = trace_run(plan, policy=policy), simulate(plan, policy=policy).to_object()
    del result["simulated_queries_per_s"]
    return {
        "size": traced.size_N.tolist(),
        "path": traced.path_N.tolist(),
        "arrival_ms": traced.arrival_ms_N.tolist(),
        "latency_ms": traced.latency_ms_N.tolist(),
        "result": result,
    }


def assert_same(got: Any, stored: Any) -> None:
    if isinstance(stored, dict):
        assert got.keys() == stored.keys()
        for key in stored:
            assert_same(got[key], stored[key])
    elif isinstance(stored, list):
        assert len(got) == len(stored)
        for mine, other in zip(got, stored, strict=True):
            assert_same(mine, other)
    elif isinstance(stored, float):
        assert got == pytest.approx(stored, rel=1e-9, abs=1e-12)
    else:
        assert got == stored


@pytest.mark.parametrize("policy", POLICIES)
def test_the_golden_trace_is_reproduced(policy: str) -> None:
    stored = json.loads((FOLDER / f"{policy}.json").read_text(encoding="utf-8"))
    # Through JSON and back, so that tuples and numpy numbers compare as they were stored.
    assert_same(json.loads(json.dumps(golden_object(golden_plan(), policy))), stored)


if __name__ == "__main__":
    for name in POLICIES:
        text = json.dumps(golden_object(golden_plan(), name), separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
