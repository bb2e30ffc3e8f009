"""How long a query's inputs take to reach a device: by copies measured there, else over the published link.

A measured copy (a component of kind `host_to_device`) holds the whole trip: packing, launches, link.
"""

from collections.abc import Collection, Sequence

import numpy as np

from planner.cost_model.estimates import Estimates, Floats, LatencyProvenance
from planner.cost_model.host_inputs import HostInputs
from profiles.component import Component, make_component
from profiles.hardware import Hardware
from profiles.units import MS_PER_S
from representations.work import BYTES_PER_ID

__all__ = ["COPY", "copied", "copy_layout", "copy_notes", "no_trip", "published_trip"]

COPY = "host_to_device"
# The quicker one first: it is taken where both were measured.
_LAYOUTS = {"combined": "one tensor for all", "per_table": "two tensors for each table"}


def no_trip(count: int) -> Estimates:
    """For a device that holds the inputs already: zeros."""
    return _exactly(np.zeros(count), "measured")


def published_trip(hardware: Hardware, inputs: Sequence[HostInputs]) -> Estimates:
    """The link's latency plus the bytes over its bandwidth; zeros for a device without a host link."""
    link = hardware.host_link_bytes_per_s
    if link is None:
        return no_trip(len(inputs))
    sent_bytes = np.array([one.sent_bytes for one in inputs], dtype=np.float64)
    return _exactly((hardware.host_link_latency_s + sent_bytes / link) * MS_PER_S, "estimated")


def copy_layout(families: Collection[str]) -> str | None:
    """How inputs are sent by what was measured; None where no copies were."""
    return next((layout for layout in _LAYOUTS if f"{COPY}({layout})" in families), None)


def copied(inputs: HostInputs, layout: str) -> Component:
    """The measured kind of trip that sends as many bytes of as many samples to as many tables.

    Dense features count as ids of as many bytes, and ids are no fewer than one per table.
    """
    tables = max(1, inputs.tables)
    values = round(inputs.sent_bytes / (tables * BYTES_PER_ID))
    shape: dict[str, int | float | str] = {
        "tables": tables,
        "ids_per_table": max(1, values - inputs.batch),
        "layout": layout,
    }
    return make_component(COPY, inputs.batch, shape)


def copy_notes(components: Sequence[Component]) -> tuple[str, ...]:
    """What predictions of a device with these rows take a query's inputs to be sent as; empty without copies."""
    layouts = [str(one["layout"]) for one in components if one.kind == COPY]
    layout = next((layout for layout in _LAYOUTS if layout in layouts), None)
    if layout is None:
        return ()
    return (f"inputs reach it as {_LAYOUTS[layout]}, predicted from {layouts.count(layout)} measured copies",)


def _exactly(mean_ms: Floats, provenance: LatencyProvenance) -> Estimates:
    return Estimates(
        mean_ms=mean_ms,
        low_ms=mean_ms,
        high_ms=mean_ms,
        provenance=(provenance,) * len(mean_ms),
        extrapolated=np.zeros(len(mean_ms), dtype=np.bool_),
    )
