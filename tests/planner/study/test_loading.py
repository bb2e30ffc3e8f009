import tomllib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from planner.study import Study, load_study, study_from_object
from profiles.errors import CorruptFileError, InputError, UnknownNameError

QUICKSTART = Path("docs/examples/quickstart.toml")


@pytest.fixture
def body() -> dict[str, Any]:
    return tomllib.loads(QUICKSTART.read_text(encoding="utf-8"))


def edited(body: dict[str, Any], key: str, value: object) -> dict[str, Any]:
    changed: dict[str, Any] = deepcopy(body)
    *parents, last = key.split(".")
    node: Any = changed
    for step in parents:
        node = node[int(step)] if step.isdigit() else node.setdefault(step, {})
    node[last] = value
    return changed


def test_quickstart_parses_into_what_it_says() -> None:
    study = load_study(QUICKSTART)
    assert study.name == "quickstart"
    assert study.search.limits == {"latency_ms": 4.0, "parameter_bytes": 8_000_000.0}
    assert [device.memory_bytes for device in study.devices] == [10**9, 2 * 10**8]
    workload = study.workload.to_plan()
    assert (workload.arrivals.process, workload.arrivals.source) == ("trace", "azure-conversation")
    assert (workload.sizes.mean, workload.sizes.sigma, workload.sizes.maximum) == (128.0, 1.0, 4096)


def test_latency_is_judged_on_the_first_device_at_the_mean_size_unless_told(body: dict[str, Any]) -> None:
    study = study_from_object(body)
    assert (study.latency_device, study.latency_batch) == ("cpu", 128)
    told = study_from_object(edited(edited(body, "search.latency_device", "gpu"), "search.latency_batch", 7))
    assert (told.latency_device, told.latency_batch) == ("gpu", 7)


def test_only_data_devices_and_workload_are_needed() -> None:
    minimal = {"schema": "recplan.study/1", "name": "s", "data": {}, "devices": [{"name": "cpu"}], "workload": {}}
    study = study_from_object(minimal)
    assert isinstance(study, Study)
    assert study.devices[0].hardware.is_local


def bad_values() -> Iterator[tuple[str, object, str]]:
    yield "schema", "recplan.study/9", "schema: must be 'recplan.study/1'"
    yield "name", " ", "name: must not be empty"
    yield "seed", -1, "seed: must be >= 0"
    yield "colour", 1, "colour: unknown key"
    yield "folder", "x", "folder: unknown key"
    yield "workload.qps", -5, "workload.qps: must be finite and > 0, but got -5"
    yield "workload.sla_ms", 0, "workload.sla_ms: must be finite and > 0, but got 0"
    yield "workload.qps", float("nan"), "workload.qps"
    yield "workload.percentile", 100, "workload.percentile"
    yield "workload.queries", 0, "workload.queries"
    yield "workload.arrivals", {"gamma_cv": -1}, "arrivals.gamma_cv: must be finite and > 0"
    yield "workload.arrivals", {"weibull": 1}, "arrivals.weibull: unknown key"
    yield "workload.arrivals", {}, "arrivals: gamma_cv is missing"
    yield "workload.sizes", {"lognormal_mean": "big"}, "sizes.lognormal_mean: must be a finite number"
    yield "workload.sizes", {"lognormal_mean": 128, "sgma": 1}, "sizes.sgma: unknown key"
    yield "workload.id_skew", "no-such.log", "workload.id_skew"
    yield "workload.id_skew", {"zipf": 9}, "id_skew.zipf: must be in [0, 5]"
    yield "devices", [], "devices: must name at least one device"
    yield "devices.0.kind", "v1000", "did you mean 'v100'?"
    yield "devices.0.name", "", "name: must not be empty"
    yield "devices.0.name", "gpu", "names must be unique"
    yield "devices.1.memory", "3 XB", "devices.1.memory: unknown unit 'XB'"
    yield "devices.1.memory", "64 GB", "is more than v100 has"
    yield "devices.1.memory", 0, "memory: must be > 0 bytes"
    yield "devices.1.servers", 0, "servers: must be >= 1"
    yield "devices.1.power_w", -1, "power_w: must be finite and >= 0"
    yield "model.bottom_mlp", [], "bottom_mlp: must be layer widths >= 1"
    yield "model.top_mlp", [64, 2], "top_mlp: must end in 1"
    yield "model.features", [], "features: must name at least one column"
    yield "model.features", ["a", {"name": "a"}], "each column once"
    yield "data.rows", 0, "rows: must be >= 1"
    yield "data.max_bad_share", 1, "data.max_bad_share: must be in [0, 1)"
    yield "data.split", "monthly", "data.split"
    yield "search.trials", 0, "trials: must be >= 1"
    yield "search.objectives", ["aucc"], "did you mean 'auc'?"
    yield "search.objectives", ["auc", "auc"], "each once"
    yield "search.latency_device", "tpu", "search.latency_device: unknown name 'tpu'"
    yield "search.latency_batch", 0, "latency_batch: must be >= 1"
    yield "search.constraints", {"auc": 0.7}, "constraints: unknown name 'auc'"
    yield (
        "search.constraints",
        {"latency_ms": "soon"},
        "search.constraints.latency_ms: must be a number",
    )
    yield "search.constraints", {"latency_ms": 0}, "constraints.latency_ms: must be finite and > 0"
    yield "search.space", {"dim": []}, "dim: must offer at least one choice"
    yield "search.space", {"dim": [4, 4]}, "dim: each choice once"
    yield "search.space", {"dhe_k": [0]}, "dhe_k: must be >= 1"
    yield "search.training", {"epochs": 0}, "epochs: must be >= 1"
    yield "search.training", {"learning_rate": 0}, "learning_rate: must be finite and > 0"
    yield "sweep", {"batches": [1]}, "batches: must be two or more"
    yield "sweep", {"visits": 0}, "visits: must be >= 1"
    yield "sweep", {"milliseconds_per_visit": 0}, "milliseconds_per_visit: must be > 0"
    yield "sweep", {"seconds": -1}, "seconds: must be > 0"


def bad_names() -> Iterator[tuple[str, object, str]]:
    yield "where", "x", "study: where: unknown key"
    yield "workload.sizes", {"lognormal_mean": 5000}, "study: workload.sizes.lognormal_mean: must be in [1, max = 4096]"
    yield "workload.sizes", {"fixed": 0}, "study: workload.sizes.fixed: must be in [1, max = 4096], but got 0"
    yield "workload.sizes", {"lognormal_mean": 9, "sigma": 99}, "study: workload.sizes.sigma: must be in [0, 10)"
    yield "workload.sizes", {"trace": "azure-cod"}, "study: workload.sizes: unknown name 'azure-cod'"
    yield "workload.arrivals", "azure", "study: workload.arrivals: unknown name 'azure'"
    yield "workload.arrivals", "times.txt", "study: workload.arrivals: no such trace file: times.txt"
    yield "workload.id_skew", "no-such.log", "study: workload.id_skew: must be 'data'"
    yield "data.source", "flight", "study: data.source: unknown name 'flight' (did you mean 'flights'?)"
    yield "data.source", "criteo-kaggle", "study: data.path: is missing"
    yield "model.features", ["colour"], "study: model.features: unknown name 'colour'"


def hostile_values() -> Iterator[tuple[str, object, str]]:
    yield "name", "../../x", "name: must not start with a dot"
    yield "name", "a/b", "nor hold slashes"
    yield "seed", True, "seed: must be a number, but got True"
    yield "devices.0.servers", True, "devices.0.servers: must be a number, but got True"
    yield "devices.0.memory", 10**400, "devices.0.memory: must be a finite amount of bytes"
    yield "workload.queries", 10**15, "workload.queries: must be in [1, 10000000000]"
    yield "workload.qps", 10**400, "workload.qps: "


@pytest.mark.parametrize(("key", "value", "complaint"), [*bad_values(), *bad_names(), *hostile_values()])
def test_a_bad_value_is_one_message_that_names_the_key(
    body: dict[str, Any], key: str, value: object, complaint: str
) -> None:
    with pytest.raises(InputError) as caught:
        study_from_object(edited(body, key, value))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("key", ["data", "devices", "workload", "name"])
def test_a_missing_section_is_named(body: dict[str, Any], key: str) -> None:
    del body[key]
    with pytest.raises(InputError, match=f"{key}: is missing"):
        study_from_object(body)


def test_a_missing_file_and_broken_toml_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_study(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("name = \n")
    with pytest.raises(CorruptFileError, match=r"broken\.toml: not valid TOML"):
        load_study(broken)


def test_paths_are_relative_to_the_study_file(tmp_path: Path, body: dict[str, Any]) -> None:
    (tmp_path / "ids.log").write_text("1\n2\n")
    (tmp_path / "times.txt").write_text("0\n1\n")
    study = study_from_object(edited(body, "data.path", "train.tsv"), folder=tmp_path)
    assert study.data.path == tmp_path / "train.tsv"
    assert study_from_object(edited(body, "workload.id_skew", "ids.log"), folder=tmp_path).workload.zipf() is None
    traced = study_from_object(edited(body, "workload.arrivals", "times.txt"), folder=tmp_path)
    assert traced.workload.to_plan(tmp_path).arrivals.source == str(tmp_path / "times.txt")


@pytest.mark.parametrize(
    ("sizes", "distribution", "mean", "maximum"),
    [
        ({"fixed": 64}, "fixed", 64.0, 4096),
        ({"fixed": 9000}, "fixed", 9000.0, 9000),
        ({"trace": "azure-conversation", "mean": 32, "max": 512}, "trace", 32.0, 512),
        ("azure-conversation", "trace", 128.0, 4096),
        ({"lognormal_mean": 16}, "lognormal", 16.0, 4096),
    ],
)
def test_short_forms_of_sizes(
    body: dict[str, Any], sizes: object, distribution: str, mean: float, maximum: int
) -> None:
    plan = study_from_object(edited(body, "workload.sizes", sizes)).workload.to_plan().sizes
    assert (plan.distribution, plan.mean, plan.maximum) == (distribution, mean, maximum)


def test_unknown_kind_lists_the_catalogue(body: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="known: a100, h100, h200"):
        study_from_object(edited(body, "devices.0.kind", "abacus"))
    assert issubclass(UnknownNameError, InputError)
