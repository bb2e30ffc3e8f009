"""The general loop, its arrays, and what it is made of; the loop is loaded on first use, since few plans need it."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes
from serving_sim.kernels.events.arrays import (
    DEVICE,
    OUTAGE,
    STEP,
    EventPlan,
    EventState,
    Record,
    Records,
    new_event_state,
    served_room,
)

if TYPE_CHECKING:
    from serving_sim.kernels.events.loop import serve_events

__all__ = [
    "DEVICE",
    "OUTAGE",
    "STEP",
    "EventPlan",
    "EventState",
    "Record",
    "Records",
    "new_event_state",
    "serve_events",
    "served_room",
]

__getattr__ = lazy_attributes(__name__, {"serve_events": "serving_sim.kernels.events.loop"})
