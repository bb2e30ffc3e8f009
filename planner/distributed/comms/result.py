"""What a comms benchmark measured, as a file, as points of a network, and beside what the network predicts."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from planner.distributed.cluster import Cluster
from planner.distributed.comms.job import CallTime
from planner.distributed.network import Collective, MeasuredPoint, collective_seconds
from profiles.edge import parse_object, read_json, shown
from profiles.errors import InputError
from profiles.files import replace_file

__all__ = [
    "SCHEMA",
    "CommsResult",
    "ReplayedCall",
    "measured_cluster",
    "read_comms",
    "replay_beside_predicted",
    "write_comms",
]

SCHEMA = "recplan.comms/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommsResult:
    """Times on `nodes` x `devices_per_node` ranks: of `fixed` sizes, and of a trace's calls in their order."""

    backend: Literal["gloo", "nccl"]
    nodes: int
    devices_per_node: int
    fixed: tuple[CallTime, ...]
    replayed: tuple[CallTime, ...] = ()

    @property
    def ranks(self) -> int:
        """How many took part."""
        return self.nodes * self.devices_per_node

    def points(self, *, replayed: bool = True) -> tuple[MeasuredPoint, ...]:
        """What a network takes as its measured table, with or without the trace's sizes."""
        return tuple(
            MeasuredPoint(
                collective=time.collective,
                nodes=self.nodes,
                devices_per_node=self.devices_per_node,
                message_bytes=time.message_bytes,
                seconds=time.median_ms / 1e3,
            )
            for time in (*self.fixed, *(self.replayed if replayed else ()))
        )

    def to_object(self) -> dict[str, Any]:
        """The file's content."""
        return {"schema": SCHEMA, **asdict(self)}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayedCall:
    """All calls of a trace that are alike: how many, what one took, and what the network predicts for it."""

    collective: Collective
    message_bytes: int
    calls: int
    measured_ms: float
    predicted_ms: float

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_ms / self.measured_ms - 1


def measured_cluster(cluster: Cluster, result: CommsResult, *, replayed: bool = True) -> Cluster:
    """The cluster with the measured points in the network that they crossed: in a node, or between nodes.

    Raises:
        InputError: more nodes, or more devices per node, were measured than the cluster has.
    """
    if result.nodes > cluster.nodes or result.devices_per_node > cluster.devices_per_node:
        raise InputError(
            f"comms: measured on {result.nodes} x {result.devices_per_node} ranks, but cluster {cluster.name} has only "
            f"{cluster.nodes} x {cluster.devices_per_node}"
        )
    network = cluster.network_of(result.nodes)
    measured = replace(network, measured=(*network.measured, *result.points(replayed=replayed)))
    return replace(cluster, intra=measured) if result.nodes == 1 else replace(cluster, inter=measured)


def replay_beside_predicted(cluster: Cluster, result: CommsResult) -> tuple[ReplayedCall, ...]:
    """Each kind of call in the replayed trace, measured and as predicted from the fixed sizes; the costliest first."""
    known = measured_cluster(cluster, result, replayed=False)
    groups: dict[tuple[Collective, int], list[float]] = {}
    for time in result.replayed:
        groups.setdefault((time.collective, time.message_bytes), []).append(time.median_ms)
    rows = [
        ReplayedCall(
            collective=collective,
            message_bytes=size,
            calls=len(times),
            measured_ms=sum(times) / len(times),
            predicted_ms=1e3 * _seconds(known, result, collective, size),
        )
        for (collective, size), times in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.calls * row.measured_ms))


def _seconds(cluster: Cluster, result: CommsResult, collective: Collective, size: int) -> float:
    """As the cluster's network of that shape has it."""
    return float(
        collective_seconds(
            cluster, collective, float(size), nodes=result.nodes, devices_per_node=result.devices_per_node
        )
    )


def write_comms(result: CommsResult, path: Path) -> Path:
    """Write the result as JSON.

    Raises:
        StorageError: the file cannot be written.
    """
    return replace_file(path, json.dumps(result.to_object(), indent=1) + "\n")


def read_comms(path: Path) -> CommsResult:
    """The result in a file that `write_comms` wrote.

    Raises:
        InputError: no such file, another schema, or a bad value; names the key.
    """
    body: Mapping[str, Any] = read_json(path)
    if body.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema: must be {SCHEMA!r}, but got {shown(body.get('schema'))}")
    return parse_object(CommsResult, {key: value for key, value in body.items() if key != "schema"}, str(path))
