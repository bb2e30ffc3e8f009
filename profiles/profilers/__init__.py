"""What is measured of every module: memory, traces, kernels, sizes; more by `profilers.register`."""

from collections.abc import Callable
from importlib import import_module

from profiles.profilers.protocol import Figure, Finding, OpenProfiler, Profiler, ProfilerRun
from profiles.registry import Registry

__all__ = ["Figure", "Finding", "OpenProfiler", "Profiler", "ProfilerRun", "profilers"]

# From the text after the name (`memory`, `kernels=5`, ...; empty where there is none) to a profiler.
profilers: Registry[Callable[[str], Profiler]] = Registry("profiler", entry_point_group="recplan.profilers")


def _built_in(module: str, class_name: str) -> Callable[[str], Profiler]:
    """Loaded when it is made, since the module loads torch."""

    def make(text: str) -> Profiler:
        profiler: Profiler = getattr(import_module(module), class_name).from_text(text)
        return profiler

    return make


profilers.register("kernels", _built_in("profiles.profilers.kernels", "Kernels"))
profilers.register("kineto", _built_in("profiles.profilers.kineto", "KinetoTraces"))
profilers.register("memory", _built_in("profiles.profilers.memory", "Memory"))
profilers.register("sizes", _built_in("profiles.profilers.sizes", "Sizes"))
