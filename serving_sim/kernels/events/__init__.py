"""The general loop, its arrays, and what it is made of."""

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
