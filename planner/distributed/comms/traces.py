"""Recorded traces of collectives: PARAM's basic format, and what torch's profiler exports."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planner.distributed.comms.calls import CollectiveCall
from planner.distributed.network import Collective
from profiles.errors import CorruptFileError, InputError
from profiles.files import replace_file

__all__ = ["read_trace", "write_trace"]

# As PARAM, torch and NCCL spell them, without `_`, `(` and case.
_COLLECTIVE_OF: Mapping[str, Collective] = {
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all",
    "alltoallsingle": "all_to_all",
    "alltoallbase": "all_to_all",
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "allgatherbase": "all_gather",
    "allgatherintotensor": "all_gather",
    "reducescatter": "reduce_scatter",
    "reducescatterbase": "reduce_scatter",
    "reducescattertensor": "reduce_scatter",
}
_BYTES_OF = {
    **dict.fromkeys(("float", "float32", "int", "int32"), 4),
    **dict.fromkeys(("double", "float64", "long", "int64"), 8),
    **dict.fromkeys(("half", "float16", "bfloat16", "short", "int16"), 2),
    **dict.fromkeys(("byte", "uint8", "char", "int8", "bool"), 1),
}


def read_trace(path: Path) -> tuple[CollectiveCall, ...]:
    """The collectives of one rank in their order; waits, barriers, broadcasts and the like are passed over.

    The file is a JSON list of `{"comms": "all_to_allv", "in_msg_size": 4096, "out_msg_size": 4096, "dtype": "Float"}`
    with sizes in elements, as PARAM's basic traces are (and as `write_trace` writes), or a Chrome trace of torch's
    profiler.

    Raises:
        InputError: no such file, not such a trace, an unknown type of element, or no collective in it.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise CorruptFileError(f"{path}: not a trace in JSON: {error}") from error
    calls = tuple(_calls(_entries(body, path), path))
    if not calls:
        raise InputError(f"{path}: holds no all-gather, all-reduce, all-to-all or reduce-scatter")
    return calls


def write_trace(calls: Sequence[CollectiveCall], path: Path, ranks: int) -> Path:
    """Write the calls as PARAM replays them, sizes in bytes.

    Raises:
        StorageError: the file cannot be written.
    """
    entries = [_entry(index, call, ranks) for index, call in enumerate(calls)]
    return replace_file(path, json.dumps(entries, indent=1) + "\n")


def _entry(index: int, call: CollectiveCall, ranks: int) -> dict[str, object]:
    part = -(-call.message_bytes // ranks)
    given = part if call.collective == "all_gather" else call.message_bytes
    got = part if call.collective == "reduce_scatter" else call.message_bytes
    return {
        "comms": call.collective,
        "req": index,
        "in_msg_size": given,
        "out_msg_size": got,
        "dtype": "Byte",
        "world_size": ranks,
    }


def _entries(body: Any, path: Path) -> list[Mapping[str, Any]]:
    if isinstance(body, Mapping):
        events = body.get("traceEvents", ())
        found = [event["args"] for event in events if isinstance(event, Mapping) and _is_launch(event)]
        return [_as_param(args) for args in found]
    if isinstance(body, list) and all(isinstance(entry, Mapping) for entry in body):
        return body
    raise CorruptFileError(f"{path}: must hold a list of collectives, or torch's profiler's traceEvents")


def _is_launch(event: Mapping[str, Any]) -> bool:
    """Whether it is the host's record of a collective, of which there is one; kernels repeat it."""
    return event.get("name") == "record_param_comms" and "Collective name" in (event.get("args") or {})


def _as_param(args: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "comms": args["Collective name"],
        "in_msg_size": args.get("In msg nelems", 0),
        "out_msg_size": args.get("Out msg nelems", 0),
        "dtype": args.get("dtype", ""),
    }


def _calls(entries: Iterable[Mapping[str, Any]], path: Path) -> Iterable[CollectiveCall]:
    for index, entry in enumerate(entries):
        name = str(entry.get("comms", "")).lower().replace("_", "")
        if name not in _COLLECTIVE_OF:
            continue
        elements = max(_elements(entry, key, path, index) for key in ("in_msg_size", "out_msg_size"))
        kind = str(entry.get("dtype", "")).lower().removeprefix("torch.")
        if kind not in _BYTES_OF:
            raise InputError(f"{path}: entry {index}: dtype: unknown {entry.get('dtype')!r}")
        if elements:
            yield CollectiveCall(collective=_COLLECTIVE_OF[name], message_bytes=elements * _BYTES_OF[kind])


def _elements(entry: Mapping[str, Any], key: str, path: Path, index: int) -> int:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{path}: entry {index}: {key}: must be a number of elements, but got {value!r}")
    return value
