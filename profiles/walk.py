"""Profile any `nn.Module`, level by level: in the model, alone, and what it does outside its children."""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from torch import nn

from profiles.capture import Observation, clone_inputs, observe
from profiles.cold_cache import CacheSweeper
from profiles.errors import InputError
from profiles.fingerprint import current_fingerprint
from profiles.in_situ import InSituTimes
from profiles.isolation import IsolatedRun
from profiles.measure import thread_count
from profiles.model_profile import ModelProfile
from profiles.preservation import preserved
from profiles.profile_rows import Measurements, profile_rows
from profiles.timing import TimingOptions, clock_for
from profiles.traffic import tensors_of
from profiles.tree import ModuleNode, breadth_first, module_tree

__all__ = ["ProfileOptions", "profile_model"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileOptions:
    """Depth (the model itself is 0; None for all), threads (None: as torch has it), and how long to visit a module.

    Few samples per visit keep the whole profile at some tens of forward passes.
    """

    max_depth: int | None = None
    threads: int | None = None
    visits: int = 3
    samples_per_visit: int = 2
    seconds_per_visit: float = 0.002
    cold: bool = False

    def __post_init__(self) -> None:
        if self.max_depth is not None and self.max_depth < 0:
            raise InputError(f"profile: max_depth must be >= 0, but got {self.max_depth}")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"profile: threads must be >= 1, but got {self.threads}")
        _ = self.timing

    @property
    def timing(self) -> TimingOptions:
        """The part that times one visit; validates its values."""
        return TimingOptions(
            visits=self.visits,
            seconds_per_visit=self.seconds_per_visit,
            min_samples=self.samples_per_visit,
            max_samples=max(50, self.samples_per_visit),
        )


def profile_model(
    model: nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    options: ProfileOptions | None = None,
) -> ModelProfile:
    """Profile the forward pass of `model(*args, **kwargs)` in the mode and on the device in which the model is.

    Every module gets a row, one that several parents share a row in each, with the calls made there; its parameters
    count in the first. One that raises carries the reason, while its children are measured and its figures summed
    from theirs. The model, the inputs and the random generators are left as they were found.
    """
    options, start = options or ProfileOptions(), time.perf_counter()
    with thread_count(options.threads) if options.threads else nullcontext(), preserved(model):
        rows = profile_rows(_measure(model, clone_inputs(args), clone_inputs(dict(kwargs or {})), options))
    return ModelProfile(rows=rows, profile_seconds=time.perf_counter() - start)


def _measure(
    model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: ProfileOptions
) -> Measurements:
    """Visit every module level by level, again and again, so that the visits of each are apart in time."""
    nodes = module_tree(model, options.max_depth)
    torch_name = _device_of(model, (args, kwargs))
    sweeper = CacheSweeper(torch_name) if options.cold else None
    observed = observe(model, nodes, args, kwargs)
    found = Measurements(
        nodes=nodes,
        observed=observed,
        in_situ=InSituTimes(nodes, torch_name),
        warm=_runs(nodes, observed, torch_name),
        cold=_runs(nodes, observed, torch_name) if sweeper else (),
        fingerprint=current_fingerprint(torch_name, options.threads),
    )
    for _ in range(options.visits):
        found.in_situ.visit(model, args, kwargs, options.samples_per_visit)
        for node in breadth_first(nodes):
            found.warm[node.index].visit(options.timing)
            if sweeper:
                found.cold[node.index].visit(options.timing, sweeper)
    return found


def _runs(nodes: tuple[ModuleNode, ...], observed: tuple[Observation, ...], torch_name: str) -> tuple[IsolatedRun, ...]:
    clock = clock_for(torch_name)
    return tuple(
        IsolatedRun(module=node.module, calls=seen.calls, clock=clock, failure=seen.failure)
        for node, seen in zip(nodes, observed, strict=True)
    )


def _device_of(model: nn.Module, inputs: Any) -> str:
    tensors = (*model.parameters(), *model.buffers(), *tensors_of(inputs))
    return str(tensors[0].device) if tensors else "cpu"
