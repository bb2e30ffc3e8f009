"""Simulate serving: queries, paths on devices, policies, capacity under an SLA."""

from typing import TYPE_CHECKING

from profiles.lazy import lazy_attributes
from serving_sim.plan import (
    Arrivals,
    Device,
    LatencyTable,
    Path,
    Plan,
    PolicyChoice,
    Sizes,
    Workload,
    edit_plan,
    load_plan,
    plan_from_object,
)

if TYPE_CHECKING:
    from serving_sim.capacity import CapacityResult, PolicyCapacity, find_capacity
    from serving_sim.engine import Simulation, SimulationOptions, simulate, start_simulation
    from serving_sim.metrics import SimulationResult
    from serving_sim.policies import POLICIES, Policy, RoutingContext
    from serving_sim.sizes import mean_size
    from serving_sim.traces import Trace, load_trace

__all__ = [
    "POLICIES",
    "Arrivals",
    "CapacityResult",
    "Device",
    "LatencyTable",
    "Path",
    "Plan",
    "Policy",
    "PolicyCapacity",
    "PolicyChoice",
    "RoutingContext",
    "Simulation",
    "SimulationOptions",
    "SimulationResult",
    "Sizes",
    "Trace",
    "Workload",
    "edit_plan",
    "find_capacity",
    "load_plan",
    "load_trace",
    "mean_size",
    "plan_from_object",
    "simulate",
    "start_simulation",
]

# numba takes longer to import than a plan takes to read.
__getattr__ = lazy_attributes(
    __name__,
    {
        "POLICIES": "serving_sim.policies",
        "CapacityResult": "serving_sim.capacity",
        "Policy": "serving_sim.policies",
        "PolicyCapacity": "serving_sim.capacity",
        "RoutingContext": "serving_sim.policies",
        "Simulation": "serving_sim.engine",
        "SimulationOptions": "serving_sim.engine",
        "SimulationResult": "serving_sim.metrics",
        "Trace": "serving_sim.traces",
        "find_capacity": "serving_sim.capacity",
        "load_trace": "serving_sim.traces",
        "mean_size": "serving_sim.sizes",
        "simulate": "serving_sim.engine",
        "start_simulation": "serving_sim.engine",
    },
)
