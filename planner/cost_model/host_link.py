"""How long a query's inputs take to reach a device."""

from planner.cost_model.estimates import Floats
from profiles.hardware import Hardware
from profiles.units import MS_PER_S

__all__ = ["host_link_ms"]


def host_link_ms(hardware: Hardware, input_bytes: Floats) -> Floats:
    """The link's latency plus the bytes over its bandwidth; zeros for a device without a host link."""
    link = hardware.host_link_bytes_per_s
    if link is None:
        return 0.0 * input_bytes
    return (hardware.host_link_latency_s + input_bytes / link) * MS_PER_S
