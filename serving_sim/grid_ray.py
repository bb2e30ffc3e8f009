"""Simulations as tasks of a Ray cluster."""

from collections.abc import Callable, Sequence

import ray

from profiles.executors.connection import connect
from serving_sim.metrics import SimulationResult
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike

__all__ = ["simulate_on_ray"]

Task = tuple[Sequence[Plan], PolicyLike | None]


def simulate_on_ray(
    function: Callable[[Sequence[Plan], PolicyLike | None], list[SimulationResult]],
    tasks: Sequence[Task],
    address: str,
) -> list[list[SimulationResult]]:
    """The function's results for all tasks, in their order; the cluster is `local`, `auto` or an address.

    Raises:
        InputError: no cluster answers at the address.
    """
    has_connected = connect(address)
    try:
        remote = ray.remote(num_cpus=1)(function)
        results: list[list[SimulationResult]] = ray.get([remote.remote(*task) for task in tasks])
    finally:
        if has_connected:
            ray.shutdown()
    return results
