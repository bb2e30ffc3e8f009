"""What a collective takes on a network: a latency and a curve over message size and nodes, or a measured table.

Messages are counted as PARAM's comms benchmark does, per rank: what it sends in an all-to-all, its whole buffer in an
all-reduce, the gathered buffer in an all-gather, the buffer before reduction in a reduce-scatter. Bandwidths are
algorithm bandwidths: that message over the time it took.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from profiles.edge import STRICT
from profiles.errors import InputError, UnknownNameError
from serving_sim.plan.checks import require_at_least, require_positive

if TYPE_CHECKING:
    from planner.distributed.cluster import Cluster

__all__ = ["COLLECTIVES", "Collective", "MeasuredPoint", "Network", "collective_seconds"]

Collective = Literal["all_gather", "all_reduce", "all_to_all", "reduce_scatter"]
COLLECTIVES: tuple[Collective, ...] = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredPoint:
    """What one collective took for one message size, on `nodes` x `devices_per_node` ranks."""

    __pydantic_config__: ClassVar = STRICT
    collective: Collective
    nodes: int
    devices_per_node: int
    message_bytes: float
    seconds: float

    def __post_init__(self) -> None:
        if self.collective not in COLLECTIVES:
            raise UnknownNameError("collective", self.collective, COLLECTIVES)
        for key in ("nodes", "devices_per_node", "message_bytes", "seconds"):
            require_positive(key, getattr(self, key), self.collective)


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """One network: `seconds = latency + latency_per_rank * (ranks - 1) + (message + half_message) / bandwidth`.

    `bandwidth_bytes_per_s` is what a device reaches with endless messages on `reference_nodes` nodes; half of it at
    `half_message_bytes` (Hockney's n_1/2). On n nodes it is times `(n / reference_nodes) ** -node_exponent`, never
    above `link_bytes_per_s` where that is given. `measured` points of the same collective and shape win between their
    smallest and largest message, interpolated in logarithms.
    """

    __pydantic_config__: ClassVar = STRICT
    latency_s: float
    bandwidth_bytes_per_s: Mapping[str, float]
    half_message_bytes: float = 0.0
    latency_per_rank_s: float = 0.0
    node_exponent: Mapping[str, float] = field(default_factory=dict)
    reference_nodes: int = 1
    link_bytes_per_s: float | None = None
    measured: tuple[MeasuredPoint, ...] = ()

    def __post_init__(self) -> None:
        for key in ("latency_s", "half_message_bytes", "latency_per_rank_s"):
            require_at_least(key, getattr(self, key), 0)
        if self.reference_nodes < 1:
            raise InputError(f"reference_nodes: must be >= 1, but got {self.reference_nodes}")
        if self.link_bytes_per_s is not None:
            require_positive("link_bytes_per_s", self.link_bytes_per_s)
        for key in ("bandwidth_bytes_per_s", "node_exponent"):
            if unknown := sorted(set(getattr(self, key)) - set(COLLECTIVES)):
                raise UnknownNameError(key, unknown[0], COLLECTIVES)
        for collective in COLLECTIVES:
            if collective not in self.bandwidth_bytes_per_s:
                raise InputError(f"bandwidth_bytes_per_s.{collective}: is missing")
            require_positive(f"bandwidth_bytes_per_s.{collective}", self.bandwidth_bytes_per_s[collective])
            require_at_least(f"node_exponent.{collective}", self.node_exponent.get(collective), 0)

    def bandwidth(self, collective: str, nodes: int) -> float:
        """Bytes per second and device that endless messages reach on so many nodes."""
        if collective not in self.bandwidth_bytes_per_s:
            raise UnknownNameError("collective", collective, COLLECTIVES)
        shrink = (nodes / self.reference_nodes) ** -self.node_exponent.get(collective, 0.0)
        reached = float(self.bandwidth_bytes_per_s[collective] * shrink)
        return reached if self.link_bytes_per_s is None else min(reached, self.link_bytes_per_s)

    def seconds(
        self, collective: str, message_bytes: float | NDArray[Any], *, nodes: int, devices_per_node: int
    ) -> NDArray[np.float64]:
        """What the collective takes for each message size (bytes per rank); nothing where nothing is sent."""
        ranks = nodes * devices_per_node
        sizes = np.asarray(message_bytes, dtype=np.float64)
        if ranks == 1:
            return np.zeros_like(sizes)
        rate = self.bandwidth(collective, nodes)
        fixed = self.latency_s + self.latency_per_rank_s * (ranks - 1)
        taken = fixed + (sizes + self.half_message_bytes) / rate
        points = self._points(collective, nodes, devices_per_node)
        if len(points):
            inside = (sizes >= points[0, 0]) & (sizes <= points[-1, 0])
            logs = np.interp(np.log(np.maximum(sizes, points[0, 0])), np.log(points[:, 0]), np.log(points[:, 1]))
            taken = np.where(inside, np.exp(logs), taken)
        return np.where(sizes > 0, taken, 0.0)

    def faster(self, factor: float) -> "Network":
        """The network with `factor` times the bandwidth; latencies stay, in measured points too."""
        require_positive("factor", factor)
        return replace(
            self,
            bandwidth_bytes_per_s={name: rate * factor for name, rate in self.bandwidth_bytes_per_s.items()},
            link_bytes_per_s=None if self.link_bytes_per_s is None else self.link_bytes_per_s * factor,
            measured=tuple(self._sped_up(point, factor) for point in self.measured),
        )

    def _sped_up(self, point: MeasuredPoint, factor: float) -> MeasuredPoint:
        fixed = self.latency_s + self.latency_per_rank_s * (point.nodes * point.devices_per_node - 1)
        fixed = min(fixed, point.seconds)
        return replace(point, seconds=fixed + (point.seconds - fixed) / factor)

    def _points(self, collective: str, nodes: int, devices_per_node: int) -> NDArray[np.float64]:
        """Message bytes and seconds [points, 2] of that collective and shape, by size; repeats as their median."""
        sizes: dict[float, list[float]] = {}
        for point in self.measured:
            if (point.collective, point.nodes, point.devices_per_node) == (collective, nodes, devices_per_node):
                sizes.setdefault(point.message_bytes, []).append(point.seconds)
        return np.array([(size, np.median(sizes[size])) for size in sorted(sizes)], dtype=np.float64).reshape(-1, 2)


def collective_seconds(
    cluster: "Cluster",
    collective: str,
    message_bytes_per_rank: float | NDArray[Any],
    *,
    nodes: int | None = None,
    devices_per_node: int | None = None,
) -> NDArray[np.float64]:
    """What the collective takes on the cluster, or on part of it, for each message size (a 0-d array for one size).

    One node uses the network inside it; several use the network between nodes.
    """
    nodes = cluster.nodes if nodes is None else nodes
    devices = cluster.devices_per_node if devices_per_node is None else devices_per_node
    if not (1 <= nodes <= cluster.nodes and 1 <= devices <= cluster.devices_per_node):
        raise InputError(f"nodes x devices_per_node: {nodes} x {devices} is not part of {cluster.name}")
    return cluster.network_of(nodes).seconds(collective, message_bytes_per_rank, nodes=nodes, devices_per_node=devices)
