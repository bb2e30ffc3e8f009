import json
import warnings
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given, settings

from profiles.edge import parse_object
from profiles.errors import InputError, UnknownNameError
from serving_sim.plan import (
    Arrivals,
    Cache,
    Device,
    Diurnal,
    HitCurve,
    IdleGap,
    Ids,
    LatencyTable,
    Outage,
    Path,
    Plan,
    PolicyChoice,
    QueryClass,
    Shard,
    Sizes,
    Spike,
    Workload,
    edit_plan,
    edited_options,
    load_plan,
    plan_from_object,
)
from serving_sim.plan.table_warnings import warn_by_path
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
        (LatencyTable, {"sizes": (1,), "mean_ms": (float("nan"),)}, "mean_ms"),
        (LatencyTable, {"sizes": (1,), "mean_ms": (1,), "correlation": 1.0}, "correlation"),
        (LatencyTable, {"sizes": (1,), "mean_ms": (1,), "correlation": 0.5}, "correlation"),
        (LatencyTable, {"sizes": (1,), "mean_ms": (1,), "miss_shares": (0.5,)}, "mean_by_miss_share_ms"),
        (LatencyTable, {"sizes": (1,), "mean_ms": (1,), "miss_shares": (0.5, 0.5)}, "miss_shares"),
        (IdleGap, {"after_ms": -1, "factor": 1}, "after_ms"),
        (IdleGap, {"after_ms": 1, "factor": 0}, "factor"),
        (IdleGap, {"after_ms": 1, "added_ms": -0.1}, "added_ms"),
        (Device, {"name": "d", "mtbf_s": 1}, "mtbf_s"),
        (Device, {"name": "d", "mtbf_s": 1, "repair_s": 0}, "repair_s"),
        (Device, {"name": "d", "warm_up_factor": 0.5}, "warm_up_factor"),
        (Outage, {"start_s": 2, "end_s": 1}, "end_s"),
        (Device, {"name": "d", "outages": (Outage(start_s=0, end_s=2), Outage(start_s=1, end_s=3))}, "outages"),
        (Diurnal, {"amplitude": 1, "period_s": 1}, "amplitude"),
        (Spike, {"start_s": 0, "duration_s": 0, "factor": 2}, "duration_s"),
        (Arrivals, {"process": "mmpp", "burst_share": 1}, "burst_share"),
        (Arrivals, {"process": "weibull", "cv": 30}, "cv"),
        (Sizes, {"distribution": "quantiles"}, "values"),
        (Sizes, {"distribution": "quantiles", "values": (5000,)}, "values"),
        (Sizes, {"distribution": "empirical", "values": (1, 2), "weights": (1.0,)}, "weights"),
        (Sizes, {"distribution": "empirical", "values": (1,), "weights": (-1.0,)}, "weights"),
        (Sizes, {"distribution": "quantiles", "values": (1,), "weights": (1.0,)}, "weights"),
        (QueryClass, {"name": "c", "share": 0, "sla_ms": 1}, "share"),
        (Workload, {"qps": 1, "sla_ms": 1, "classes": (QueryClass(name="c", share=0.5, sla_ms=1),)}, "classes"),
        (Ids, {"exponent": 9}, "exponent"),
        (Ids, {"rows": 0}, "rows"),
        (Ids, {"kind": "log"}, "source"),
        (HitCurve, {"entries": (0,), "rates": (0.5,)}, "entries"),
        (HitCurve, {"entries": (1, 2), "rates": (0.5, 0.4)}, "rates"),
        (HitCurve, {"entries": (1, 2), "rates": (0.5,)}, "rates"),
        (Cache, {"name": "", "capacity_bytes": 1, "entry_bytes": 1}, "name"),
        (Cache, {"name": "c", "capacity_bytes": -1, "entry_bytes": 1}, "capacity_bytes"),
        (Cache, {"name": "c", "capacity_bytes": 1, "entry_bytes": 0}, "entry_bytes"),
        (Cache, {"name": "c", "capacity_bytes": 1, "entry_bytes": 1, "kind": "decoder"}, "hit_rate"),
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


def test_a_plan_names_the_table_that_it_warns_of() -> None:
    body = small_plan().to_object()
    body["paths"][1]["latency"]["mean_ms"] = [3.0, 2.0, 1.0]
    name = body["paths"][1]["name"]
    with pytest.warns(UserWarning, match=rf"^paths\.{name}\.latency\.mean_ms decreases with size") as heard:
        assert plan_from_object(body).paths[1].latency.mean_ms == (3.0, 2.0, 1.0)
    assert len(heard) == 1


def test_a_warning_that_is_of_no_table_is_passed_on() -> None:
    table = {"sizes": [1, 2], "mean_ms": [2.0, 1.0]}

    def parse() -> LatencyTable:
        warnings.warn("something else", stacklevel=2)
        return parse_object(LatencyTable, table)

    named = pytest.warns(UserWarning, match=r"^paths\.p\.latency\.mean_ms decreases")
    with pytest.warns(UserWarning, match="^something else"), named:
        warn_by_path(parse, [{"name": "p", "latency": table}])


def test_another_policy_leaves_the_options_of_the_former_behind() -> None:
    body = small_plan(policy=PolicyChoice(name="static", options={"path": "table-cpu"})).to_object()
    assert edit_plan(body, ["policy.name=table-switch"])["policy"] == {"name": "table-switch", "options": {}}
    chosen = edit_plan(body, ["policy.options.predicate=finish", "policy.name=mp-rec"])["policy"]["options"]
    assert chosen == {"predicate": "finish"}
    assert edit_plan(body, ["workload.qps=3"])["policy"] == body["policy"]


def test_the_options_that_edits_set_are_known_by_name() -> None:
    edits = ["workload.qps=1", "policy.options.path=a", 'policy.options={"share": 1}', "policy.options=none"]
    assert edited_options(edits) == ("path", "share")


def test_a_latency_that_is_no_number_is_interpolated_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"mean_ms is NaN at size \[4\]; interpolated"):
        table = LatencyTable(sizes=(1, 4, 16), mean_ms=(1.0, float("nan"), 9.0))
    assert table.mean_ms == pytest.approx((1.0, 3.0, 9.0))


def test_a_row_of_misses_is_held_to_the_rules_of_the_means() -> None:
    with pytest.warns(UserWarning, match=r"mean_by_miss_share_ms\.1 decreases"):
        LatencyTable(sizes=(1, 2), mean_ms=(1, 1), miss_shares=(0, 1), mean_by_miss_share_ms=((1, 1), (2, 1)))
    with pytest.raises(InputError, match=r"mean_by_miss_share_ms\.0: must have 2 entries"):
        LatencyTable(sizes=(1, 2), mean_ms=(1, 1), miss_shares=(0,), mean_by_miss_share_ms=((1,),))


def test_a_path_names_a_cache_that_is_there_and_shards_on_devices_that_are() -> None:
    plan = small_plan()
    path = plan.paths[0]
    with pytest.raises(UnknownNameError, match="cache"):
        replace(plan, paths=(replace(path, cache="hot"),))
    with pytest.raises(UnknownNameError, match=r"shards\.device"):
        replace(plan, paths=(replace(path, shards=(Shard(device="tpu", latency=path.latency),)),))
    with pytest.raises(InputError, match="accuracy_on_hit: goes with a cache"):
        replace(path, accuracy_on_hit=0.5)
    with pytest.raises(InputError, match=r"latency\.miss_shares: goes with a cache"):
        replace(path, latency=replace(path.latency, miss_shares=(0.0,), mean_by_miss_share_ms=((1, 2, 3),)))


def test_a_plan_with_everything_survives_its_json_form() -> None:
    cache = Cache(name="hot", capacity_bytes=2048, entry_bytes=64, hit_rate=HitCurve(entries=(1, 9), rates=(0.1, 0.5)))
    load = Workload(
        qps=1,
        sla_ms=1,
        arrivals=Arrivals(process="mmpp", diurnal=Diurnal(amplitude=0.5, period_s=9)),
        classes=(QueryClass(name="all", share=1, sla_ms=5, sizes=Sizes(distribution="quantiles", values=(1, 2))),),
    )
    plan = replace(small_plan(), caches=(cache,), workload=load)
    assert plan_from_object(json.loads(json.dumps(plan.to_object()))) == plan


def test_an_edit_may_name_a_key_that_the_file_leaves_out(tmp_path: FilePath) -> None:
    body = small_plan().to_object()
    del body["caches"], body["devices"][1]["state"], body["paths"][0]["latency"]["idle_gap"], body["policy"]
    (tmp_path / "plan.json").write_text(json.dumps(body))
    gap = 'paths.0.latency.idle_gap={"after_ms": 8, "factor": 1.35}'
    plan = load_plan(tmp_path / "plan.json", ["devices.gpu.state=failed", gap, "policy.name=static"])
    assert (plan.devices[1].state, plan.policy.name) == ("failed", "static")
    assert plan.paths[0].latency.idle_gap == IdleGap(after_ms=8, factor=1.35)
