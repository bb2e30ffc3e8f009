"""Clusters small enough to reason about by hand."""

from typing import Any

from planner.distributed import Cluster, EmbeddingTable, MemoryTier, Network

EVEN = dict.fromkeys(("all_gather", "all_reduce", "all_to_all", "reduce_scatter"), 1e9)


def small_cluster(
    nodes: int = 1, devices: int = 2, *, hbm_bytes: int = 10**9, ddr_bytes: int = 0, **changes: Any
) -> Cluster:
    """1 TB/s of device memory, 1 GB/s networks; `ddr_bytes` per host where given."""
    tiers = [MemoryTier(name="hbm", bytes=hbm_bytes, bandwidth_bytes_per_s=1e12)]
    if ddr_bytes:
        tiers.append(MemoryTier(name="ddr", bytes=ddr_bytes, bandwidth_bytes_per_s=1e11, per_host=True))
    given: dict[str, Any] = {
        "name": "small",
        "nodes": nodes,
        "devices_per_node": devices,
        "flops_per_s": {"float32": 1e12},
        "tiers": tuple(tiers),
        "intra": Network(latency_s=1e-6, bandwidth_bytes_per_s={name: rate * 10 for name, rate in EVEN.items()}),
        "inter": Network(latency_s=1e-5, bandwidth_bytes_per_s=EVEN),
        "host_to_device_bytes_per_s": 1e10,
    }
    return Cluster(**{**given, **changes})


def table(name: str = "t", rows: int = 1000, dim: int = 16, pooling: float = 2.0, **more: Any) -> EmbeddingTable:
    return EmbeddingTable(name=name, rows=rows, dim=dim, pooling=pooling, **more)
