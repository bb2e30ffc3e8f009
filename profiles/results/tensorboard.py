"""A profile as a TensorBoard model graph: the module tree, with each module's figures, coloured by time or memory.

The graph is written from the tree, not traced, so that every model has one, whatever its inputs are.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from profiles.charts.layout import parent_indices
from profiles.errors import InputError
from profiles.files import make_folder
from profiles.model_profile import ModelProfile
from profiles.records import ComponentProfile

__all__ = ["TensorBoardWriter", "graph_nodes"]

_PACKAGE = "tensorboard.compat.proto"
_MICROSECONDS_PER_MS = 1e3
_TAG = "latency"
_SCOPE_NODE = "(module)"


class TensorBoardWriter:
    """Writes `tensorboard/events.out.tfevents...`, which `tensorboard --logdir FOLDER/tensorboard` shows.

    Latency and peak memory are also there as step statistics: the graph can be coloured by compute time and memory.
    """

    name = "tensorboard"

    def write(self, profile: ModelProfile, folder: Path) -> Path:
        """Write and return the folder; earlier event files in it are removed.

        Raises:
            InputError: the package `tensorboard` is not installed.
            StorageError: the disk is full or the folder is not writable.
        """
        try:
            files = import_module("tensorboard.summary.writer.event_file_writer")
        except ImportError as error:
            message = "result writer tensorboard: needs the package tensorboard; pip install 'recplan[tensorboard]'"
            raise InputError(message) from error
        place = make_folder(folder / "tensorboard")
        for file in place.glob("events.out.tfevents.*"):
            file.unlink()
        event = import_module(f"{_PACKAGE}.event_pb2")
        writer = files.EventFileWriter(str(place))
        try:
            writer.add_event(event.Event(graph_def=_graph(profile).SerializeToString()))
            writer.add_event(event.Event(tagged_run_metadata=_run_metadata(profile)))
        finally:
            writer.close()
        return place


def graph_nodes(profile: ModelProfile) -> tuple[tuple[str, ComponentProfile], ...]:
    """Every forward row with its name in the graph, which nests by slashes: a module that holds others is a scope."""
    rows = [row for row in profile.rows if row.phase == "forward"]
    holding = {parent for parent in parent_indices([row.path for row in rows]) if parent is not None}
    root = _part(profile.name or rows[0].class_name)
    names = ("/".join((root, *map(_part, row.path.split("."))) if row.path else (root,)) for row in rows)
    return tuple(
        (f"{name}/{_SCOPE_NODE}" if index in holding else name, row)
        for index, (name, row) in enumerate(zip(names, rows, strict=True))
    )


def _part(name: str) -> str:
    """TensorBoard takes slashes for nesting, and a leading caret or a colon for an input's kind."""
    return name.replace("/", "_").replace(":", "_").replace("^", "_") or "_"


def _graph(profile: ModelProfile) -> Any:
    graph = import_module(f"{_PACKAGE}.graph_pb2")
    node = import_module(f"{_PACKAGE}.node_def_pb2")
    versions = import_module(f"{_PACKAGE}.versions_pb2")
    nodes = [
        node.NodeDef(name=name, op=row.class_name, device=_device(row), attr=dict(_attributes(row)))
        for name, row in graph_nodes(profile)
    ]
    return graph.GraphDef(node=nodes, versions=versions.VersionDef(producer=22))


def _attributes(row: ComponentProfile) -> Iterator[tuple[str, Any]]:
    value = import_module(f"{_PACKAGE}.attr_value_pb2").AttrValue
    latencies = {"in_situ_ms": row.in_situ, "warm_ms": row.warm, "cold_ms": row.cold}
    numbers = {
        **{name: latency.median_ms for name, latency in latencies.items() if latency},
        "flops": row.flops,
        "bytes_moved": row.bytes_moved,
        "parameter_bytes": row.parameter_bytes,
        "peak_memory_bytes": row.peak_memory_bytes,
        "mfu": row.mfu,
        "bandwidth_share": row.bandwidth_share,
        **row.figures,
    }
    for name, number in numbers.items():
        if number is not None:
            yield name, value(f=number)
    for name, text in {"provenance": row.provenance, "reason": row.reason, "inputs": row.spec}.items():
        if text:
            yield name, value(s=text.encode())
    yield "calls", value(i=row.calls)


def _run_metadata(profile: ModelProfile) -> Any:
    """Step statistics: TensorBoard colours a scope by the sum over its nodes, so a scope's own node has none."""
    stats = import_module(f"{_PACKAGE}.step_stats_pb2")
    config = import_module(f"{_PACKAGE}.config_pb2")
    event = import_module(f"{_PACKAGE}.event_pb2")
    nodes = [
        stats.NodeExecStats(
            node_name=name,
            all_end_rel_micros=round(latency.median_ms * _MICROSECONDS_PER_MS),
            op_end_rel_micros=round(latency.median_ms * _MICROSECONDS_PER_MS),
            memory=[stats.AllocatorMemoryUsed(allocator_name=row.device, total_bytes=row.peak_memory_bytes or 0)],
        )
        for name, row in graph_nodes(profile)
        if (latency := row.in_situ or row.warm) and not name.endswith(f"/{_SCOPE_NODE}")
    ]
    devices = [stats.DeviceStepStats(device=_device(profile.rows[0]), node_stats=nodes)]
    metadata = config.RunMetadata(step_stats=stats.StepStats(dev_stats=devices))
    return event.TaggedRunMetadata(tag=_TAG, run_metadata=metadata.SerializeToString())


def _device(row: ComponentProfile) -> str:
    kind = "CPU" if row.device.endswith("cpu") else "GPU"
    return f"/device:{kind}:0"
