"""Serve a plan for real on this machine, beside its simulation."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes

if TYPE_CHECKING:
    from serving_sim.replay.calibration import Calibration, calibrate
    from serving_sim.replay.live import LiveOptions, LiveTrace, serve_live
    from serving_sim.replay.queries import Queries, draw_queries
    from serving_sim.replay.replaying import Replay, ReplayOptions, measure_capacity, replay_plan
    from serving_sim.replay.servable import Servable, servable_part

__all__ = [
    "Calibration",
    "LiveOptions",
    "LiveTrace",
    "Queries",
    "Replay",
    "ReplayOptions",
    "Servable",
    "calibrate",
    "draw_queries",
    "measure_capacity",
    "replay_plan",
    "servable_part",
    "serve_live",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "Calibration": "serving_sim.replay.calibration",
        "LiveOptions": "serving_sim.replay.live",
        "LiveTrace": "serving_sim.replay.live",
        "Queries": "serving_sim.replay.queries",
        "Replay": "serving_sim.replay.replaying",
        "ReplayOptions": "serving_sim.replay.replaying",
        "Servable": "serving_sim.replay.servable",
        "calibrate": "serving_sim.replay.calibration",
        "draw_queries": "serving_sim.replay.queries",
        "measure_capacity": "serving_sim.replay.replaying",
        "replay_plan": "serving_sim.replay.replaying",
        "servable_part": "serving_sim.replay.servable",
        "serve_live": "serving_sim.replay.live",
    },
)
