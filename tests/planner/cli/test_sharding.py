import json
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.cli.app import run

EXAMPLE = "docs/examples/sharding.toml"
HEADER = "name,rows,dim,pooling\n"
MEASURED = """
schema = "recplan.study/1"
name = "measured"
[cluster]
preset = "local-gloo"
[sharding]
tables = "tables.csv"
batch_per_rank = 32
[sharding.dense]
dense_features = 4
bottom_mlp = [8]
interaction = "concat"
top_mlp = [1]
[[sharding.constraints]]
table = "*"
schemes = ["table_wise"]
"""
SMALL = HEADER + "".join(f"t{i},{1000 * (i + 1)},16,{i + 1}\n" for i in range(6))


@pytest.fixture
def tables(tmp_path: Path) -> str:
    file = tmp_path / "tables.csv"
    file.write_text(SMALL)
    return str(file)


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["shard", *arguments, "--json"]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert run(["shard", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_tables_and_a_cluster_by_name_are_enough(capsys: pytest.CaptureFixture[str], tables: str) -> None:
    body = json_of(capsys, "--tables", tables, "--cluster", "dgx-h100", "--nodes", "2", "--batch", "64")
    assert (body["tables"], body["ranks"], body["batch_per_rank"]) == (6, 16, 64)
    assert body["max_over_lower_bound"] >= 1
    assert body["max_over_mean"] >= 1 - 1e-9
    assert body["qps"] == pytest.approx(16 * 64 / body["iteration_ms"] * 1e3)
    assert 0 <= body["exposed_comm_share"] <= 1
    assert body["plan_seconds"] > 0
    assert "no dense layers were given" in body["notes"][0]


def test_a_study_s_answer_reads_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shard", EXAMPLE, "--what-if", "batch=256", "--outlook"]) == 0
    out = capsys.readouterr().out
    for words in ("x the lower bound", "How tables are cut", "One iteration", "dhe=user_id", "batch=256", "Over nodes"):
        assert words in out
    assert "What hardware is worth" in out


def test_the_page_and_its_files_are_written(capsys: pytest.CaptureFixture[str], tables: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("--tables", tables, "--nodes", "2", "--mflops", "10", "--dense-layers", "4")
    body = json_of(capsys, *arguments, "--what-if", "dhe=all", "--out", str(out), "--export", "torchrec")
    assert set(body["files"]) == {"page", "plan", "torchrec"}
    assert {one.name for one in out.iterdir()} == {
        "sharding.html", "sharding.json", "plan.json", "torchrec.json", "frames", "charts",
    }  # fmt: skip
    assert (out / "frames" / "placements.csv").read_text().count("\n") == 7
    assert (out / "charts" / "timeline.vl.json").exists()
    assert body["what_ifs"][0]["tables_moved"] == 6


@pytest.mark.slow
def test_torchrec_plans_beside_us(capsys: pytest.CaptureFixture[str], tables: str) -> None:
    body = json_of(capsys, "--tables", tables, "--nodes", "1", "--compare", "torchrec")
    ours, on_theirs, theirs = body["planners"]
    assert [row["planner"] for row in (ours, on_theirs, theirs)] == [
        "recplan", "recplan on torchrec's costs", "torchrec",
    ]  # fmt: skip
    assert on_theirs["torchrec_ms"] <= theirs["torchrec_ms"] * (1 + 1e-9)
    assert theirs["torchrec_over_bound"] >= 1


def test_all_but_torchrec_s_planner_works_without_it(
    capsys: pytest.CaptureFixture[str], tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.split(".")[0] == "torchrec" or one.endswith("interop.rival")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torchrec", None)
    arguments = ("--tables", tables, "--nodes", "1")
    assert run(["shard", *arguments, "--out", str(tmp_path / "out"), "--export", "torchrec"]) == 0
    capsys.readouterr()
    assert run(["shard", *arguments, "--compare", "torchrec"]) == 2
    assert "error: --compare: needs torchrec, which is not installed" in capsys.readouterr().err


@pytest.mark.slow
def test_the_network_of_this_machine_is_measured_and_planned_with(
    capsys: pytest.CaptureFixture[str], tables: str, tmp_path: Path
) -> None:
    arguments = ("--tables", tables, "--cluster", "local-gloo", "--batch", "64")
    body = json_of(capsys, *arguments, "--comms-bench")
    assert body["comms"]["backend"] == "gloo"
    assert {row["collective"] for row in body["comms"]["fixed"]} >= {"all_to_all", "all_reduce"}
    assert all(row["measured_ms"] > 0 < row["predicted_ms"] for row in body["replayed"])
    file = tmp_path / "comms.json"
    file.write_text(json.dumps(body["comms"]))
    again = json_of(capsys, *arguments, "--comms", str(file))
    assert again["iteration_ms"] == pytest.approx(body["iteration_ms"])
    assert run(["shard", *arguments, "--comms", str(file)]) == 0
    assert "Messages replayed" in capsys.readouterr().out


@pytest.mark.slow
def test_layers_and_look_ups_are_measured_here_and_their_times_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "tables.csv").write_text("name,rows,dim,pooling\na,100000,16,2\nb,120000,16,1\n")
    study = tmp_path / "study.toml"
    study.write_text(MEASURED)
    arguments = (str(study), "--profiles", str(tmp_path / "store"))
    measured, again = json_of(capsys, *arguments, "--measure"), json_of(capsys, *arguments)
    grades = {phase["name"]: phase["provenance"] for phase in measured["iteration"]["phases"]}
    assert {grades[name] for name in ("look up", "update tables", "bottom MLP", "top MLP, gradients")} == {"measured"}
    assert "10 of 10 passes of layers and look-ups were measured on local-cpu" in measured["notes"]
    assert again["iteration_ms"] == pytest.approx(measured["iteration_ms"])


def test_a_log_of_ids_decides_what_the_cache_keeps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "tables.csv").write_text("name,rows,dim,pooling\na,1000000,16,2\n")
    (tmp_path / "ids.txt").write_text("\n".join(str(i % 10) for i in range(1000)))
    arguments = ("--tables", str(tmp_path / "tables.csv"), "--nodes", "1", "--what-if", "hbm_bytes=1MB")
    even, logged = (json_of(capsys, *arguments, *more) for more in ((), ("--ids", f"a={tmp_path / 'ids.txt'}")))
    assert logged["notes"][-1].startswith("a is cached as 1,000 accesses in")
    fetched = [
        {row["name"]: row["after_ms"] for row in body["what_ifs"][0]["phases"]}.get("fetch rows from ddr", 0.0)
        for body in (even, logged)
    ]
    assert fetched[1] < 0.1 * fetched[0]


def test_one_what_if_is_told_by_phase_and_by_table(capsys: pytest.CaptureFixture[str], tables: str) -> None:
    assert run(["shard", "--tables", tables, "--nodes", "2", "--what-if", "nodes=1"]) == 0
    out = capsys.readouterr().out
    assert "Phases under nodes=1" in out
    assert "Tables placed otherwise under nodes=1: 6, most bytes first" in out
    assert run(["shard", "--tables", tables, "--nodes", "1", "--what-if", "transfers=in_turn"]) == 0
    assert "All tables lie as before under transfers=in_turn" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name either a STUDY or --tables FILE"),
        ((EXAMPLE, "--tables", "mlperf"), "name either a STUDY or --tables FILE"),
        ((EXAMPLE, "--mflops", "1"), "a study has [sharding.dense]"),
        ((EXAMPLE, "--compare", "neo"), "--compare: must be torchrec, but got 'neo'"),
        ((EXAMPLE, "--export", "torchrec"), "--export goes with --out DIR"),
        ((EXAMPLE, "--cluster", "zionx"), "did you mean 'zionex'?"),
        ((EXAMPLE, "--what-if", "nodes"), "what-if: must be KEY=VALUE"),
        ((EXAMPLE, "--comms-bench"), "cluster zionex has 2 nodes"),
        ((EXAMPLE, "--comms-bench", "--comms", "x.json"), "name one of them"),
        (("--tables", "nowhere.csv"), "nowhere.csv: cannot be read"),
        (("nowhere.toml",), "nowhere.toml: no such file"),
        ((EXAMPLE, "--measure"), "--device and --measure go with --profiles DIR"),
        ((EXAMPLE, "--profiles", "nowhere"), "error: --profiles: must be a folder of profiles"),
        ((EXAMPLE, "--profiles", "nowhere", "--measure", "--device", "v100"), "error: --device: 'v100' is not on this"),
        ((EXAMPLE, "--ids", "shop"), "ids: must be TABLE=FILE, but got 'shop'"),
        ((EXAMPLE, "--ids", "shops=scarab"), "did you mean 'shop'"),
        ((EXAMPLE, "--ids", "shop=nowhere.txt"), "there is no nowhere.txt"),
        ((EXAMPLE, "--what-if", "hbm_bytes=1,ddr_bytes=1"), "hbm has 1 bytes per device"),
    ],
)
def test_wrong_options_are_said(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of(capsys, *arguments)


@pytest.mark.parametrize(
    ("rows", "messages"),
    [
        ("a,10,16,1\na,20,16,1\n", ("tables.csv:3", "'a' stands on line 2 too")),
        ("a,10,16,0\n", ("tables.csv:2", "pooling: must be", "(table a)")),
        ("a,10,0,1\n", ("tables.csv:2", "dim: must be an integer >= 1, but got 0 (table a)")),
        ("big,900000000000,128,1\nb,10,16,1\n", ("do not fit zionex", "big", "bytes")),
    ],
)
def test_bad_tables_are_named_with_their_numbers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: str, messages: tuple[str, ...]
) -> None:
    (tmp_path / "tables.csv").write_text(HEADER + rows)
    said = error_of(capsys, "--tables", str(tmp_path / "tables.csv"))
    assert all(message in said for message in messages), said


@pytest.mark.parametrize(
    ("section", "messages"),
    [
        ("[cluster.inter.bandwidth_bytes_per_s]\nall_to_all = 0\n", ("bandwidth_bytes_per_s.all_to_all", "but got 0")),
        (
            '[[sharding.constraints]]\ntable = "a"\nschemes = ["column_wise"]\n',
            ("table a: column_wise cannot cut dim 1",),
        ),
        (
            '[[sharding.constraints]]\ntable = "a"\nschemes = ["table_row_wise"]\n',
            ("table a: table_row_wise has 8 ranks per node but only 1 rows",),
        ),
    ],
)
def test_bad_clusters_and_cuts_are_named_with_their_numbers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, section: str, messages: tuple[str, ...]
) -> None:
    (tmp_path / "tables.csv").write_text(f"{HEADER}a,1,1,1\n")
    study = 'schema = "recplan.study/1"\nname = "bad"\n[cluster]\npreset = "zionex"\nnodes = 2\n'
    body = study + '[sharding]\ntables = "tables.csv"\n'
    (tmp_path / "study.toml").write_text(body + section)
    said = error_of(capsys, str(tmp_path / "study.toml"))
    assert all(message in said for message in messages), said
