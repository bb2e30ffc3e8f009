"""The result of profiling a model: its rows, and what they come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from profiles.kernel_time import KernelTime
from profiles.profilers.protocol import Figure
from profiles.records import ComponentProfile, Latency
from profiles.walk.subject import Phase

__all__ = ["LEFT_OUT", "SELF_KIND", "SELF_NAME", "CallProfile", "ModelProfile"]

# With this begins the reason of a skipped row that was not meant to be run.
LEFT_OUT = "not run alone"
SELF_KIND = "self"
SELF_NAME = "(self)"


@dataclass(frozen=True, kw_only=True, slots=True)
class CallProfile:
    """One distinct call of a module: how often a pass of its batch makes it, and what one such call costs alone.

    `batch` is the batch's label, or its place where it has none, and `samples` how many the call gets of it; `weight`
    is the batch's share in the figures of a row, which are the sums over its calls of a phase of `weight * count` times
    what one of them costs.
    """

    path: str
    batch: str
    signature: str
    count: int
    phase: Phase = "forward"
    weight: float = 1.0
    samples: int = 1
    warm: Latency | None = None
    cold: Latency | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelProfile:
    """Rows in tree order, parents before children; the first is the model itself, whose path is empty.

    `calls` are the distinct calls of each module, `kernels` the time by kernel where it was analysed, `figures` what
    the names in the rows' figures mean, `costs` what looking took (`capture_seconds`, `hook_overhead`, ...), `notes`
    what was changed by looking.

    Beside each module that has children stands a row `PATH.(self)` of kind `self`: what it does outside them.
    """

    rows: tuple[ComponentProfile, ...]
    profile_seconds: float
    name: str = ""
    calls: tuple[CallProfile, ...] = ()
    kernels: tuple[KernelTime, ...] = ()
    figures: tuple[Figure, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def modules(self) -> tuple[ComponentProfile, ...]:
        """The rows that are modules."""
        return tuple(row for row in self.rows if row.kind != SELF_KIND)

    def summary(self) -> dict[str, Any]:
        """Counts and totals, JSON-ready; `latency_ms` is the model alone, None where it could not be run.

        Modules that filters left out are `left_out`, and not among the `skipped`, which could not be run.
        """
        root, modules = self.rows[0], [row for row in self.modules if row.phase == "forward"]
        latency = root.warm or root.in_situ
        provenances = [row.provenance for row in modules]
        left_out = sum(row.provenance == "skipped" and row.reason.startswith(LEFT_OUT) for row in modules)
        left_out = sum(row.provenance == "skipped" and row.reason.startswith(LEFT_OUT) for row in modules)
        return {
            "modules": len(modules),
            "called": sum(row.calls > 0 for row in modules),
            "measured": provenances.count("measured"),
            "aggregated": provenances.count("aggregated"),
            "skipped": provenances.count("skipped") - left_out,
            "left_out": left_out,
            "latency_ms": latency.median_ms if latency else None,
            "flops": root.flops,
            "parameter_bytes": root.parameter_bytes,
            "profile_seconds": self.profile_seconds,
        }
