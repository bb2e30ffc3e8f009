"""Clusters that train: nodes of devices, their tiers of memory, and the networks in and between nodes."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from planner.distributed.network import Network
from profiles.edge import STRICT, parse_object, read_toml
from profiles.errors import InputError, UnknownNameError
from serving_sim.plan.checks import require_at_least, require_names, require_positive

__all__ = ["Cluster", "MemoryTier", "cluster_catalogue", "get_cluster", "read_cluster"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryTier:
    """Memory that may hold tables: usable bytes and achieved bandwidth, of one device or (`per_host`) of its host."""

    __pydantic_config__: ClassVar = STRICT
    name: str
    bytes: int
    bandwidth_bytes_per_s: float
    per_host: bool = False

    def __post_init__(self) -> None:
        require_at_least("bytes", self.bytes, 0, self.name)
        require_positive("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s, self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """`nodes` x `devices_per_node` alike devices; rank r sits on node `r // devices_per_node`.

    `flops_per_s` is what a matrix product reaches by dtype; `tiers` go from the fastest memory to the slowest.
    `kernel_launch_s` is paid per kernel, `host_to_device_bytes_per_s` per device for input.
    """

    __pydantic_config__: ClassVar = STRICT
    name: str
    title: str = ""
    nodes: int
    devices_per_node: int
    flops_per_s: Mapping[str, float]
    tiers: tuple[MemoryTier, ...]
    intra: Network
    inter: Network
    host_to_device_bytes_per_s: float
    kernel_launch_s: float = 0.0
    price_per_device_hour: float | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for key in ("nodes", "devices_per_node"):
            if getattr(self, key) < 1:
                raise InputError(f"{key}: must be >= 1, but got {getattr(self, key)} (cluster {self.name})")
        if not self.tiers:
            raise InputError(f"tiers: must not be empty (cluster {self.name})")
        require_names("tiers", [tier.name for tier in self.tiers])
        if not self.flops_per_s:
            raise InputError(f"flops_per_s: must name at least one dtype (cluster {self.name})")
        for dtype, rate in self.flops_per_s.items():
            require_positive(f"flops_per_s.{dtype}", rate, f"cluster {self.name}")
        require_positive("host_to_device_bytes_per_s", self.host_to_device_bytes_per_s, f"cluster {self.name}")
        require_at_least("kernel_launch_s", self.kernel_launch_s, 0, f"cluster {self.name}")
        require_at_least("price_per_device_hour", self.price_per_device_hour, 0, f"cluster {self.name}")

    @property
    def ranks(self) -> int:
        """Devices of all nodes."""
        return self.nodes * self.devices_per_node

    def node_of(self, rank: int) -> int:
        """The node that a rank sits on."""
        if not 0 <= rank < self.ranks:
            raise InputError(f"rank: must be in 0..{self.ranks - 1}, but got {rank} (cluster {self.name})")
        return rank // self.devices_per_node

    def tier(self, name: str) -> MemoryTier:
        """The tier of that name."""
        for tier in self.tiers:
            if tier.name == name:
                return tier
        raise UnknownNameError(f"cluster {self.name}: tier", name, [tier.name for tier in self.tiers])

    def device_bandwidth(self, tier: str) -> float:
        """Bytes per second that one device gets from a tier while all devices read.

        Shared memory is divided by the host's devices, and reached through the host link.
        """
        memory = self.tier(tier)
        if not memory.per_host:
            return memory.bandwidth_bytes_per_s
        return min(memory.bandwidth_bytes_per_s / self.devices_per_node, self.host_to_device_bytes_per_s)

    def tier_bytes(self, name: str) -> int:
        """Usable bytes of a tier in the whole cluster."""
        memory = self.tier(name)
        return memory.bytes * (self.nodes if memory.per_host else self.ranks)

    def network_of(self, nodes: int) -> Network:
        """The network that a collective over so many nodes crosses."""
        return self.intra if nodes == 1 else self.inter

    def with_nodes(self, nodes: int) -> "Cluster":
        """The cluster with another number of nodes."""
        return replace(self, nodes=nodes)

    def with_reserved(self, bytes_per_device: float) -> "Cluster":
        """The cluster with less of its fastest memory: so much is taken on every device.

        Raises:
            InputError: a device has no more than that, or the bytes are negative.
        """
        require_at_least("reserved_bytes", bytes_per_device, 0, f"cluster {self.name}")
        first = self.tiers[0]
        taken = math.ceil(bytes_per_device) * (self.devices_per_node if first.per_host else 1)
        if taken and taken >= first.bytes:
            owner = "host" if first.per_host else "device"
            raise InputError(
                f"cluster {self.name}: {first.name} has {first.bytes:,} bytes per {owner}, but layers, activations and "
                f"buffers take {taken:,}"
            )
        return replace(self, tiers=(replace(first, bytes=first.bytes - taken), *self.tiers[1:]))

    def to_object(self) -> dict[str, Any]:
        """The cluster as plain data, as `read_cluster` takes it."""
        return asdict(self)


@cache
def cluster_catalogue() -> Mapping[str, Cluster]:
    """The clusters that the package knows, by name; each entry's comments and `source` say where figures come from."""
    text = files("planner.distributed").joinpath("data/clusters.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["clusters"]
    return {name: parse_object(Cluster, {"name": name, **body}, f"clusters.{name}") for name, body in entries.items()}


def get_cluster(name: str) -> Cluster:
    """The cluster of that name in the catalogue; an `UnknownNameError` lists the known ones."""
    known = cluster_catalogue()
    if name not in known:
        raise UnknownNameError("cluster", name, known)
    return known[name]


def read_cluster(source: Path | str | Mapping[str, Any], where: str = "cluster") -> Cluster:
    """A cluster from a TOML file or from plain data, whole or as changes of a known one (`preset = "zionex"`).

    Nested tables are merged key by key, tiers by their name; unknown tiers are added behind.

    Raises:
        InputError: unknown or missing keys, or bad values, each with its key.
    """
    if isinstance(source, Path | str):
        return read_cluster(read_toml(Path(source)), str(source))
    body = dict(source)
    preset = body.pop("preset", None)
    if preset is not None:
        if not isinstance(preset, str):
            raise InputError(f"{where}: preset: must be the name of a cluster, but got {preset!r}")
        body = _merged(get_cluster(preset).to_object(), body)
    return parse_object(Cluster, body, where)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            merged[key] = _merged(old, value)
        elif key == "tiers" and isinstance(value, list | tuple) and isinstance(old, list | tuple):
            merged[key] = _merged_tiers(old, value)
        else:
            merged[key] = value
    return merged


def _merged_tiers(base: Any, changes: Any) -> list[Any]:
    tiers = {tier["name"]: tier for tier in base}
    for number, change in enumerate(changes):
        name = change.get("name") if isinstance(change, Mapping) else None
        if name is None:
            raise InputError(f"tiers.{number}.name: is missing")
        tiers[name] = {**tiers.get(name, {}), **change}
    return list(tiers.values())
