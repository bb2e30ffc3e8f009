"""What is measured of every module: latency, memory, kernels, traces; more by `profilers.register`."""

from collections.abc import Callable

from profiles.profilers.protocol import Figure, Finding, Profiler, ProfilerRun
from profiles.registry import Registry

__all__ = ["Figure", "Finding", "Profiler", "ProfilerRun", "profilers"]

# From the text after the name (`memory`, `kernels=cpu`, ...; empty where there is none) to a profiler.
profilers: Registry[Callable[[str], Profiler]] = Registry("profiler", entry_point_group="recplan.profilers")
