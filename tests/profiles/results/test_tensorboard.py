import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from profiles.errors import InputError
from profiles.results.tensorboard import TensorBoardWriter, graph_nodes
from tests.profiles.results.sample import EVIL, sample_profile


@pytest.fixture
def read(tmp_path: Path) -> Any:
    reader = import_module("tensorboard.backend.event_processing.event_accumulator")
    return reader.EventAccumulator(str(TensorBoardWriter().write(sample_profile(), tmp_path))).Reload()


def test_modules_that_hold_others_are_scopes() -> None:
    assert [name for name, _ in graph_nodes(sample_profile())] == [
        "net/(module)", "net/(self)", "net/a", "net/list/(module)", "net/list/0", "net/list/1",
        f"net/{EVIL}",
    ]  # fmt: skip


def test_signs_that_mean_something_to_tensorboard_are_replaced() -> None:
    assert graph_nodes(sample_profile(name="a/b:c^d"))[1][0] == "a_b_c_d/(self)"


def test_the_graph_reads_back_with_every_modules_figures(read: Any) -> None:
    nodes = {node.name: node for node in read.Graph().node}
    assert len(nodes) == 7
    node = nodes["net/a"]
    assert (node.op, node.device) == ("Linear", "/device:GPU:0")
    assert (node.attr["in_situ_ms"].f, node.attr["flops"].f, node.attr["gpu_ms"].f) == (5.0, 8e9, 3.5)
    assert "cold_ms" not in node.attr
    assert nodes["net/list/(module)"].attr["provenance"].s == b"aggregated"


def test_the_graph_can_be_coloured_by_time(read: Any) -> None:
    (device,) = read.RunMetadata("latency").step_stats.dev_stats
    times = {stats.node_name: stats.all_end_rel_micros for stats in device.node_stats}
    assert times == {"net/(self)": 2000, "net/a": 5000, "net/list/0": 2500, "net/list/1": 1100}


def test_without_tensorboard_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.event_file_writer", None)
    with pytest.raises(InputError, match=r"pip install 'recplan\[tensorboard\]'"):
        TensorBoardWriter().write(sample_profile(), tmp_path)
