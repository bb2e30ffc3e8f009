from pathlib import Path

import pytest

from planner.distributed.comms import CallTime, CommsResult, write_comms
from planner.distributed.shard_request import ShardRequest, cluster_of, request_from_study
from profiles.errors import InputError

ROOT = Path(__file__).parents[3]
SMALL = """
schema = "recplan.study/1"
name = "small"
[cluster]
preset = "zionex"
nodes = 2
[sharding]
tables = "tables.csv"
"""
TABLES = "name,rows,dim\na,100,16\nb,50,16\n"


def request(folder: Path, text: str = SMALL, tables: str = TABLES) -> ShardRequest:
    (folder / "study.toml").write_text(text)
    (folder / "tables.csv").write_text(tables)
    return request_from_study(folder / "study.toml")


def test_a_study_may_hold_a_cluster_and_tables_alone(tmp_path: Path) -> None:
    found = request(tmp_path)
    assert [table.name for table in found.scenario.job.tables] == ["a", "b"]
    assert (found.name, found.scenario.cluster.nodes) == ("small", 2)
    assert found.notes == ("no dense layers were given: the iteration is that of the tables alone",)


def test_the_example_of_the_docs_gives_layers_constraints_and_what_ifs() -> None:
    found = request_from_study(ROOT / "docs" / "examples" / "sharding.toml")
    job = found.scenario.job
    assert job.bottom.widths == (200, 512, 256)
    assert job.top.widths[0] == 256 + sum(table.dim for table in job.tables)
    assert (job.forward_dtype, job.backward_dtype) == ("float16", "bfloat16")
    assert (len(found.constraints), len(found.what_if), found.notes) == (2, 3, ())


def test_a_study_says_whether_transfers_take_turns(tmp_path: Path) -> None:
    assert not request(tmp_path).scenario.job.is_network_shared
    assert request(tmp_path, SMALL + 'transfers = "in_turn"\n').scenario.job.is_network_shared


def test_a_study_of_serving_shards_its_own_features(tmp_path: Path) -> None:
    quickstart = (ROOT / "docs" / "examples" / "quickstart.toml").read_text(encoding="utf-8")
    found = request(tmp_path, quickstart + '\n[cluster]\npreset = "local-gloo"\n[sharding]\ndim = 8\n')
    job = found.scenario.job
    assert {table.dim for table in job.tables} == {8}
    assert all(table.zipf is not None for table in job.tables)
    assert job.compute_dtype == "float32"
    # The bottom's last width follows the tables'.
    assert (job.bottom.widths[-1], job.top.widths[-1]) == (8, 1)


def test_published_totals_stand_for_layers(tmp_path: Path) -> None:
    found = request(tmp_path, SMALL + "[sharding.dense]\nmflops_per_sample = 10\nlayers = 4\n")
    assert found.scenario.job.forward_flops_per_sample == 10e6


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (SMALL.replace("recplan.study/1", "recplan.plan/1"), "schema: must be 'recplan.study/1'"),
        (SMALL.replace("[cluster]", "[clusters]"), r"cluster: is missing; recplan shard needs \[cluster\]"),
        (SMALL.replace("tables = ", "table = "), "sharding.table: unknown key"),
        (SMALL.replace('tables = "tables.csv"', ""), r"sharding.tables: is missing; without \[data\]"),
        (SMALL.replace('"tables.csv"', '"other.csv"'), "other.csv: cannot be read"),
        (SMALL.replace("zionex", "zionx"), "did you mean 'zionex'"),
        (SMALL.replace("nodes = 2", "nodes = 0"), "nodes: must be >= 1, but got 0"),
        (SMALL.replace("nodes = 2", "measured = 3"), "cluster.measured: must name a file, but got 3"),
        (SMALL + "batch_per_rank = 0\n", "sharding.batch_per_rank: must be >= 1, but got 0"),
        (SMALL + "dim = 4\n", "dim: is that of the study's features"),
        (SMALL + "[sharding.dense]\ntop_mlp = [0]\n", "top_mlp: must be layer widths >= 1"),
        (SMALL + "[sharding.dense]\nbottom_mlp = [4]\n", "bottom_mlp: goes with dense_features"),
        (SMALL + "[sharding.dense]\nlayers = 1\n", "layers: must be >= 2, but got 1"),
        (SMALL + "[sharding.dense]\nmflops_per_sample = -1\n", "mflops_per_sample: must be finite and >= 0"),
        (SMALL + "[sharding.dense]\nmflops_per_sample = 1\ntop_mlp = [1]\n", "stands for bottom_mlp and top_mlp"),
        (SMALL + "[sharding.dense]\ndense_features = -1\n", "dense_features: must be >= 0"),
        (SMALL + "dim = 0\n", "dim: must be >= 1, but got 0"),
    ],
)
def test_every_complaint_names_the_file_and_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as raised:
        request(tmp_path, text)
    assert "study.toml" in str(raised.value)


def test_vectors_that_cannot_be_multiplied_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sharding\.dense\.interaction: dot needs vectors of one width, but b has 8"):
        request(tmp_path, SMALL + "[sharding.dense]\ntop_mlp = [4, 1]\n", TABLES.replace("b,50,16", "b,50,8"))


def test_a_cluster_comes_by_name_from_a_file_or_with_its_measured_network(tmp_path: Path) -> None:
    assert cluster_of("zionex").ranks == 128
    (tmp_path / "mine.toml").write_text('preset = "dgx-h100"\nname = "mine"\nnodes = 3\n')
    assert cluster_of("mine.toml", tmp_path).nodes == 3
    time = CallTime(collective="all_reduce", message_bytes=100, median_ms=1.0, low_ms=1.0, high_ms=1.0)
    write_comms(CommsResult(backend="gloo", nodes=1, devices_per_node=2, fixed=(time,)), tmp_path / "comms.json")
    measured = cluster_of({"preset": "local-gloo", "measured": "comms.json"}, tmp_path)
    assert len(measured.intra.measured) == 1
