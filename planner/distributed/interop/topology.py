"""A cluster in the few figures that torchrec's planner takes, and torchrec's own where the cluster's are not wanted."""

from dataclasses import dataclass
from typing import Literal

from planner.distributed.cluster import Cluster

__all__ = ["Constants", "TorchrecFigures", "torchrec_figures"]

Constants = Literal["cluster", "torchrec"]
_GIB = 2**30


@dataclass(frozen=True, kw_only=True, slots=True)
class TorchrecFigures:
    """What torchrec's `Topology` is made from: bytes per device, and bytes per millisecond.

    torchrec knows one bandwidth in a host and one between hosts, whatever the collective, the message and the number
    of hosts are.
    """

    ranks: int
    devices_per_node: int
    hbm_bytes: int
    ddr_bytes: int
    hbm_bytes_per_ms: float
    host_to_device_bytes_per_ms: float
    intra_bytes_per_ms: float
    inter_bytes_per_ms: float


def torchrec_figures(cluster: Cluster, constants: Constants = "cluster") -> TorchrecFigures:
    """The cluster's sizes, with its bandwidths or with those that torchrec ships (a V100's).

    The device's memory is the cluster's first tier, the host's the next that devices share; what is shared is divided.
    Between hosts stands the all-to-all's bandwidth over all nodes.
    """
    first = cluster.tiers[0]
    shared = next((tier for tier in cluster.tiers[1:] if tier.per_host), None)
    ddr_bytes = shared.bytes // cluster.devices_per_node if shared else 0
    sizes = {
        "ranks": cluster.ranks,
        "devices_per_node": cluster.devices_per_node,
        "hbm_bytes": first.bytes // (cluster.devices_per_node if first.per_host else 1),
        "ddr_bytes": ddr_bytes,
    }
    if constants == "torchrec":
        # torchrec.distributed.planner.constants, 1.8.0.
        return TorchrecFigures(
            **sizes,
            hbm_bytes_per_ms=897 * _GIB / 1000,
            host_to_device_bytes_per_ms=32 * _GIB / 1000,
            intra_bytes_per_ms=600 * _GIB / 1000,
            inter_bytes_per_ms=12.5 * _GIB / 1000,
        )
    return TorchrecFigures(
        **sizes,
        hbm_bytes_per_ms=cluster.device_bandwidth(first.name) / 1e3,
        host_to_device_bytes_per_ms=cluster.host_to_device_bytes_per_s / 1e3,
        intra_bytes_per_ms=cluster.intra.bandwidth("all_to_all", 1) / 1e3,
        inter_bytes_per_ms=cluster.inter.bandwidth("all_to_all", cluster.nodes) / 1e3,
    )
