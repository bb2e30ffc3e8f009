"""A trained representation on a device, with the cache that it looks into and the shards that it waits for."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from profiles.edge import STRICT
from profiles.errors import InputError
from serving_sim.plan.checks import require_at_least, require_share
from serving_sim.plan.latency import LatencyTable

__all__ = ["Path", "PathProvenance", "Shard"]

PathProvenance = Literal["measured", "predicted", "estimated", "given"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """A part of a path's lookups on a device; the path goes on once the slowest of its shards is done."""

    __pydantic_config__: ClassVar = STRICT
    device: str
    latency: LatencyTable


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A trained representation on a device. `accuracy` is the share of correct predictions on held-out data.

    `host_ms` is the host's part of each query, spent on the device's time: the service is `host_ms` plus the latency.
    A path with a `cache` is right on a share `accuracy_on_hit` of what hits and `accuracy_on_miss` of the rest
    (`accuracy` where None).
    """

    __pydantic_config__: ClassVar = STRICT
    name: str
    representation: str
    device: str
    accuracy: float
    latency: LatencyTable
    parameter_bytes: int = 0
    auc: float | None = None
    log_loss: float | None = None
    provenance: PathProvenance = "given"
    candidate: str = ""
    model: dict[str, Any] | None = None
    cache: str = ""
    accuracy_on_hit: float | None = None
    accuracy_on_miss: float | None = None
    shards: tuple[Shard, ...] = ()
    host_ms: float = 0.0

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("name: must not be empty")
        for name in ("accuracy", "accuracy_on_hit", "accuracy_on_miss"):
            require_share(name, getattr(self, name), self.name)
        require_at_least("host_ms", self.host_ms, 0, self.name)
        for name in ("accuracy_on_hit", "accuracy_on_miss"):
            if getattr(self, name) is not None and not self.cache:
                raise InputError(f"{name}: goes with a cache ({self.name})")
        if self.latency.miss_shares and not self.cache:
            raise InputError(f"latency.miss_shares: goes with a cache ({self.name})")
