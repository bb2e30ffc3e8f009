import json
from pathlib import Path

import pytest

from planner.distributed.comms import CollectiveCall, read_trace, write_trace
from profiles.errors import CorruptFileError, InputError, UnknownNameError

CALLS = (
    CollectiveCall(collective="all_to_all", message_bytes=4096),
    CollectiveCall(collective="all_gather", message_bytes=1024),
    CollectiveCall(collective="reduce_scatter", message_bytes=2048),
    CollectiveCall(collective="all_reduce", message_bytes=12),
)


def written(folder: Path, body: object) -> Path:
    file = folder / "trace.json"
    file.write_text(json.dumps(body))
    return file


def test_a_trace_comes_back_as_it_was_written(tmp_path: Path) -> None:
    assert read_trace(write_trace(CALLS, tmp_path / "trace.json", 2)) == CALLS


def test_param_s_traces_count_elements_and_hold_more_than_collectives(tmp_path: Path) -> None:
    trace = [
        {"comms": "init", "pg_id": 0, "global_ranks": [0, 1]},
        {"comms": "all_to_allv", "in_msg_size": 10, "out_msg_size": 12, "dtype": "Float", "in_split": [4, 6]},
        {"comms": "wait", "req": 1},
        {"comms": "all_reduce", "in_msg_size": 3, "out_msg_size": 3, "dtype": "torch.bfloat16"},
    ]
    found = [(call.collective, call.message_bytes) for call in read_trace(written(tmp_path, trace))]
    assert found == [("all_to_all", 48), ("all_reduce", 6)]


def test_a_profiler_s_trace_counts_each_launch_once(tmp_path: Path) -> None:
    args = {"Collective name": "_reduce_scatter_base", "In msg nelems": 8, "Out msg nelems": 4, "dtype": "Float"}
    events = [
        {"name": "record_param_comms", "args": args},
        {"name": "ncclDevKernel_ReduceScatter", "args": args},
        {"name": "aten::mm", "args": {}},
    ]
    (call,) = read_trace(written(tmp_path, {"traceEvents": events}))
    assert (call.collective, call.message_bytes) == ("reduce_scatter", 32)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ([], "holds no all-gather"),
        (["x"], "must hold a list of collectives"),
        ([{"comms": "all_reduce", "in_msg_size": -1, "out_msg_size": 1, "dtype": "Float"}], "entry 0: in_msg_size"),
        ([{"comms": "all_reduce", "in_msg_size": 1, "out_msg_size": 1, "dtype": "Quad"}], "dtype: unknown 'Quad'"),
    ],
)
def test_what_is_no_trace_is_said(tmp_path: Path, body: object, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_trace(written(tmp_path, body))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_trace(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(CorruptFileError, match="not a trace in JSON"):
        read_trace(tmp_path / "bad.json")


def test_calls_are_known_collectives_of_some_bytes() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'all_to_all'"):
        CollectiveCall(collective="alltoall", message_bytes=1)  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(InputError, match="message_bytes: must be >= 1, but got 0"):
        CollectiveCall(collective="all_reduce", message_bytes=0)
