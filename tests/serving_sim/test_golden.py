"""A fixed plan and seed give the stored trace; `python -m tests.serving_sim.test_golden` stores it anew."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from serving_sim.engine import simulate, trace_run
from serving_sim.plan import Outage, Plan, Shard, Sizes, load_plan
from serving_sim.policies import Batching, PolicyLike

FOLDER = Path(__file__).parent / "golden"
POLICIES = ("static", "table-switch", "mp-rec")
EVENTS = "events"


def golden_plan() -> Plan:
    return load_plan(FOLDER / "plan.json")


def event_plan() -> Plan:
    """Failures, an outage, a warm-up, shards and batches on the golden plan."""
    plan = golden_plan().at(sizes=Sizes(distribution="quantiles", values=(4, 25, 60, 130, 300, 900), maximum=4096))
    first, *others = plan.devices
    failing = replace(
        first,
        outages=(Outage(start_s=0.1, end_s=0.15),),
        mtbf_s=0.1,
        repair_s=0.02,
        warm_up_s=0.01,
        warm_up_factor=2.0,
        detection_s=0.005,
    )
    others = [replace(device, mtbf_s=0.2, repair_s=0.02, on_failure="restart") for device in others]
    shards = (Shard(device=plan.devices[-1].name, latency=plan.paths[-1].latency),)
    paths = (replace(plan.paths[0], shards=shards), *plan.paths[1:])
    return replace(plan, devices=(failing, *others), paths=paths)


def golden_object(plan: Plan, policy: PolicyLike) -> dict[str, Any]:
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


def test_the_golden_trace_of_a_run_by_events_is_reproduced() -> None:
    stored = json.loads((FOLDER / f"{EVENTS}.json").read_text(encoding="utf-8"))
    assert any("a server went down under a query" in note for note in stored["result"]["notes"])
    assert_same(json.loads(json.dumps(golden_object(event_plan(), Batching(most_samples=300)))), stored)


if __name__ == "__main__":
    for name in POLICIES:
        text = json.dumps(golden_object(golden_plan(), name), separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    text = json.dumps(golden_object(event_plan(), Batching(most_samples=300)), separators=(",", ":"))
    (FOLDER / f"{EVENTS}.json").write_text(text + "\n", encoding="utf-8")
