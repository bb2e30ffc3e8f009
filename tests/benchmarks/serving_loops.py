"""The rival serving loops on one scenario, and that they serve it as the simulator does."""

from collections.abc import Callable, Sequence

import numpy as np

from profiles.errors import MeasurementError
from serving_sim.kernels import Floats
from tests.benchmarks.rivals import bare_loop, heap_loop, simpy_loop
from tests.benchmarks.rivals.routing import scenario_of
from tests.benchmarks.serving_scenario import Drawn, traced_latencies

__all__ = ["largest_difference", "loops"]

Latencies = Sequence[float] | Floats
_TOLERANCE = 1e-6


def loops(drawn: Drawn, queries: int) -> dict[str, Callable[[], Latencies]]:
    """The rivals on the first queries; each returns every query's latency (ms)."""
    scenario = scenario_of(drawn.chunk, queries, drawn.gap_ms, drawn.paths, drawn.rule)
    return {
        "bare": lambda: _bare(drawn, queries),
        "heap": lambda: heap_loop.serve(scenario),
        "simpy": lambda: simpy_loop.serve(scenario),
    }


def largest_difference(drawn: Drawn, queries: int) -> float:
    """Relative, over the first queries and all rivals, to the simulator's own latencies.

    Raises:
        MeasurementError: a rival serves another scenario.
    """
    expected = np.array(traced_latencies(drawn, queries))
    found = [np.abs(np.array(serve()) / expected - 1).max() for serve in loops(drawn, queries).values()]
    if not max(found) < _TOLERANCE:
        raise MeasurementError(f"{drawn.plan.policy.name}: a rival's latencies differ by {max(found):.1%}")
    return float(max(found))


def _bare(drawn: Drawn, queries: int) -> Latencies:
    latency_ms_N = np.empty(queries)
    chunk, rule = drawn.chunk, drawn.rule
    bare_loop.serve(
        chunk.gap_N[:queries],
        chunk.size_N[:queries],
        chunk.factor_KN[0, :queries],
        drawn.gap_ms,
        drawn.paths.service_ms_SP,
        drawn.paths.device_P,
        (rule.path_E, rule.tier_E, rule.limit_ms_CE[0], rule.rate_per_ms_E),
        latency_ms_N,
    )
    return latency_ms_N
