import json
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given, settings

from profiles.errors import InputError, UnknownNameError
from serving_sim.plan import (
    Arrivals,
    Device,
    LatencyTable,
    Path,
    Plan,
    PolicyChoice,
    Sizes,
    Workload,
    edit_plan,
    edited_options,
    load_plan,
    plan_from_object,
)
from serving_sim.testing import small_plan
from tests.serving_sim.reference import plans


@given(plan=plans())
@settings(max_examples=15, deadline=None)
def test_a_plan_survives_its_json_form(plan: Plan) -> None:
    assert plan_from_object(json.loads(json.dumps(plan.to_object()))) == plan


def test_a_saved_plan_loads_with_edits(tmp_path: FilePath) -> None:
    small_plan().save(tmp_path / "plan.json")
    plan = load_plan(tmp_path / "plan.json", ["workload.qps=77", "devices.gpu.servers=3", "policy.options.share=0.5"])
    assert (plan.workload.qps, plan.devices[1].servers, plan.policy.options) == (77, 3, {"share": 0.5})


def test_an_edit_may_name_a_list_item_by_index_and_give_plain_text() -> None:
    edited = edit_plan(small_plan().to_object(), ["paths.0.name=first", "policy.name=static"])
    assert edited["paths"][0]["name"] == "first"
    assert edited["policy"]["name"] == "static"


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        ("workload.qps", "must be KEY=VALUE"),
        ("workload.qqps=1", "did you mean 'qps'"),
        ("devices.tpu.servers=1", "known: cpu, gpu"),
        ("devices.9.servers=1", "unknown name '9'"),
        ("workload.qps.x=1", "is below a plain value"),
    ],
)
def test_an_edit_of_what_is_not_there_is_refused(edit: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        edit_plan(small_plan().to_object(), [edit])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"schema": "recplan.plan/9"}, "schema: must be 'recplan.plan/1', but got 'recplan.plan/9'"),
        ({"workloads": {}}, "workloads: unknown key"),
        ({"devices": []}, "devices: must not be empty"),
        ({"workload": {"qps": -5, "sla_ms": 10}}, r"workload\.qps: must be finite and > 0, but got -5"),
    ],
)
def test_a_wrong_plan_names_the_key(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plan_from_object({**small_plan().to_object(), **change})


@pytest.mark.parametrize(
    ("kind", "fields", "key"),
    [
        (Workload, {"qps": 1, "sla_ms": float("nan")}, "sla_ms"),
        (Workload, {"qps": 1e-300, "sla_ms": 1}, "qps"),
        (Workload, {"qps": 1e10, "sla_ms": 1}, "qps"),
        (Workload, {"qps": 1, "sla_ms": 1, "percentile": 100}, "percentile"),
        (Workload, {"qps": 1, "sla_ms": 1, "queries": 0}, "queries"),
        (Workload, {"qps": 1, "sla_ms": 1, "queries": 10**15}, "queries"),
        (LatencyTable, {"sizes": (1,), "mean_ms": (1.0,), "low_ms": (2.0,), "high_ms": (1.0,)}, "low_ms"),
        (Device, {"name": ""}, "name"),
        (Sizes, {"mean": 5000}, "mean"),
        (Sizes, {"sigma": -1}, "sigma"),
        (Sizes, {"distribution": "trace"}, "source"),
        (Arrivals, {"cv": 0}, "cv"),
        (Arrivals, {"source": "azure-code"}, "source"),
        (Device, {"name": "d", "servers": 0}, "servers"),
        (Device, {"name": "d", "servers": 10**12}, "servers"),
        (Device, {"name": "d", "busy_w": -1}, "busy_w"),
        (LatencyTable, {"sizes": (2, 1), "mean_ms": (1, 1)}, "sizes"),
        (LatencyTable, {"sizes": (1, 2), "mean_ms": (1,)}, "mean_ms"),
        (LatencyTable, {"sizes": (1,), "mean_ms": (0,)}, "mean_ms"),
        (LatencyTable, {"sizes": (1,), "mean_ms": (1,), "sigma": 10}, "sigma"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(kind: type, fields: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError, match=f"^{key}: "):
        kind(**fields)


def test_paths_must_be_unique_and_on_known_devices() -> None:
    plan = small_plan()
    with pytest.raises(InputError, match="paths: names must be unique"):
        Plan(name="p", devices=plan.devices, paths=plan.paths * 2, workload=plan.workload)
    with pytest.raises(UnknownNameError, match="known: gpu"):
        Plan(name="p", devices=plan.devices[1:], paths=plan.paths, workload=plan.workload)
    with pytest.raises(InputError, match="accuracy: must be in"):
        Path(name="p", representation="table", device="cpu", accuracy=78.9, latency=plan.paths[0].latency)


def test_latency_that_falls_with_size_is_kept_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="decreases with size"):
        LatencyTable(sizes=(1, 2), mean_ms=(2.0, 1.0))


def test_another_policy_leaves_the_options_of_the_former_behind() -> None:
    body = small_plan(policy=PolicyChoice(name="static", options={"path": "table-cpu"})).to_object()
    assert edit_plan(body, ["policy.name=table-switch"])["policy"] == {"name": "table-switch", "options": {}}
    chosen = edit_plan(body, ["policy.options.predicate=finish", "policy.name=mp-rec"])["policy"]["options"]
    assert chosen == {"predicate": "finish"}
    assert edit_plan(body, ["workload.qps=3"])["policy"] == body["policy"]


def test_the_options_that_edits_set_are_known_by_name() -> None:
    edits = ["workload.qps=1", "policy.options.path=a", 'policy.options={"share": 1}', "policy.options=none"]
    assert edited_options(edits) == ("path", "share")
