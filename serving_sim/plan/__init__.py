"""The plan: everything that the simulator and the live replay read, as frozen data with a JSON form.

A plan stands on its own: what-ifs are edits of it (`edit_plan`), never of what it was made from.
"""

from serving_sim.plan.cache import Cache, HitCurve
from serving_sim.plan.device import MOST_SERVERS, Device, Outage
from serving_sim.plan.edits import edit_plan, edited_options
from serving_sim.plan.latency import IdleGap, LatencyTable
from serving_sim.plan.path import Path, PathProvenance, Shard
from serving_sim.plan.plan import SCHEMA, Plan, PolicyChoice, load_plan, plan_from_object
from serving_sim.plan.workload import (
    HIGHEST_QPS,
    LOWEST_QPS,
    MOST_QUERIES,
    Arrivals,
    Diurnal,
    Ids,
    QueryClass,
    Sizes,
    Spike,
    Workload,
)

__all__ = [
    "HIGHEST_QPS",
    "LOWEST_QPS",
    "MOST_QUERIES",
    "MOST_SERVERS",
    "SCHEMA",
    "Arrivals",
    "Cache",
    "Device",
    "Diurnal",
    "HitCurve",
    "IdleGap",
    "Ids",
    "LatencyTable",
    "Outage",
    "Path",
    "PathProvenance",
    "Plan",
    "PolicyChoice",
    "QueryClass",
    "Shard",
    "Sizes",
    "Spike",
    "Workload",
    "edit_plan",
    "edited_options",
    "load_plan",
    "plan_from_object",
]
