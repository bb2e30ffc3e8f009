"""What a run came to.

Counts, latencies and correct predictions are of the counted queries (after the warm-up), rates per second from the
first counted arrival to the last finish; utilisation and energy are of the whole run.

Verdict:
- `stable`: no device is busy more than 90 % of the time;
- `overloaded`: one is, and at the last arrival the work still queued (the drain, the time until the last finish)
  exceeds the SLA and 1 % of the run: the backlog grows;
- `near-saturation`: else.

The verdict says nothing of the SLA: a stable run may be late for other reasons. `holds_sla` says whether the SLA's
percentile of the counted queries is within the SLA.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S, format_ms
from serving_sim import kernels
from serving_sim.histogram import bin_edges_ms, exact_percentiles, histogram_percentiles, rank
from serving_sim.plan import Plan
from serving_sim.run import Run

__all__ = ["PERCENTILES", "LatencyHistogram", "SimulationResult", "Verdict", "holds_sla", "summarise"]

Verdict = Literal["stable", "near-saturation", "overloaded"]
PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
_GROWTH_SHARE, _BUSY_SHARE = 0.01, 0.9


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LatencyHistogram:
    """Counts of latencies (ms) between consecutive edges; only the bins from the first to the last filled one."""

    edges_ms: NDArray[np.float64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationResult:
    """The metrics of a run. Equal runs have equal results; how fast they ran does not count."""

    plan: str
    policy: str
    queries: int
    counted: int
    qps: float
    sla_ms: float
    verdict: Verdict
    holds_sla: bool
    latency_ms: dict[str, float]
    mean_latency_ms: float
    mean_wait_ms: float
    sla_violation_share: float
    correct_predictions_per_s: float
    correct_predictions_in_sla_per_s: float
    accuracy: float
    fluid_bound_share: float | None
    path_share: dict[str, float]
    device_utilisation: dict[str, float]
    energy_j_per_query: float | None
    duration_s: float
    extrapolated: int
    notes: tuple[str, ...] = ()
    path_share_by_size: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Per path, counted queries by size class: class c holds sizes in [2^c, 2^(c+1))."""
    latency_histogram: LatencyHistogram = field(compare=False, repr=False)
    simulated_queries_per_s: float = field(compare=False)

    def to_object(self) -> dict[str, Any]:
        """The JSON object of `recplan simulate`."""
        return {
            "plan": self.plan,
            "policy": self.policy,
            "queries": self.queries,
            "qps": self.qps,
            "sla_ms": self.sla_ms,
            "verdict": self.verdict,
            "holds_sla": self.holds_sla,
            "fluid_bound_share": self.fluid_bound_share,
            "latency_ms": dict(self.latency_ms),
            "sla_violation_share": self.sla_violation_share,
            "correct_predictions_per_s": self.correct_predictions_per_s,
            "correct_predictions_in_sla_per_s": self.correct_predictions_in_sla_per_s,
            "accuracy": self.accuracy,
            "paths": [{"name": name, "share": share} for name, share in self.path_share.items()],
            "devices": [{"name": name, "utilisation": used} for name, used in self.device_utilisation.items()],
            "energy_j_per_query": self.energy_j_per_query,
            "simulated_queries_per_s": self.simulated_queries_per_s,
            "mean_latency_ms": self.mean_latency_ms,
            "mean_wait_ms": self.mean_wait_ms,
            "duration_s": self.duration_s,
            "extrapolated": self.extrapolated,
            "notes": list(self.notes),
        }


def summarise(plan: Plan, policy: str, run: Run, seconds: float, bound: float | None) -> SimulationResult:
    """The metrics of a run that took `seconds` of this machine; `bound` is on its correct predictions in the SLA."""
    counts, sums, by_class_PC = run.totals.counts, run.totals.sums, run.totals.by_class_PC
    counted, served = int(counts[kernels.COUNTED]), int(counts[kernels.ARRIVED])
    duration_s = float(sums[kernels.LAST_FINISH_MS] - sums[kernels.FIRST_MS]) / MS_PER_S
    in_sla = float(sums[kernels.CORRECT_IN_SLA])
    utilisation = _utilisation(run)
    names = [path.name for path in plan.paths]
    return SimulationResult(
        plan=plan.name,
        policy=policy,
        queries=served,
        counted=counted,
        qps=plan.workload.qps,
        sla_ms=run.sla_ms,
        verdict=_verdict(run, max(utilisation)),
        holds_sla=holds_sla(run, plan.workload.percentile),
        latency_ms=_percentiles(run, counted),
        mean_latency_ms=float(sums[kernels.LATENCY_MS]) / counted,
        mean_wait_ms=float(sums[kernels.WAIT_MS]) / counted,
        sla_violation_share=int(counts[kernels.VIOLATIONS]) / counted,
        correct_predictions_per_s=float(sums[kernels.CORRECT]) / duration_s if duration_s else 0.0,
        correct_predictions_in_sla_per_s=in_sla / duration_s if duration_s else 0.0,
        accuracy=float(sums[kernels.CORRECT]) / int(counts[kernels.SAMPLES]),
        fluid_bound_share=in_sla / bound if bound else None,
        path_share=dict(zip(names, (by_class_PC.sum(axis=1) / counted).tolist(), strict=True)),
        device_utilisation=dict(zip([device.name for device in plan.devices], utilisation, strict=True)),
        energy_j_per_query=_energy_j(plan, run, utilisation, served),
        duration_s=duration_s,
        extrapolated=int(counts[kernels.EXTRAPOLATED]),
        notes=_notes(plan, run, counted),
        path_share_by_size={name: tuple(row.tolist()) for name, row in zip(names, by_class_PC, strict=True)},
        latency_histogram=_histogram(run),
        simulated_queries_per_s=served / max(seconds, 1e-9),
    )


def holds_sla(run: Run, percentile: float) -> bool:
    """Whether that percentile of the counted latencies is within the SLA."""
    counted = int(run.totals.counts[kernels.COUNTED])
    return int(run.totals.counts[kernels.VIOLATIONS]) <= counted - 1 - rank(percentile, counted)


def _percentiles(run: Run, counted: int) -> dict[str, float]:
    wanted = tuple(PERCENTILES.values())
    if counted <= run.totals.exact_ms.size:
        values = exact_percentiles(run.totals.exact_ms[:counted], wanted)
    else:
        values = histogram_percentiles(run.totals.histogram_B, wanted)
    return dict(zip(PERCENTILES, values, strict=True))


def _utilisation(run: Run) -> list[float]:
    """Busy share of each device's servers, from time 0 to the last finish."""
    span_ms = float(run.totals.sums[kernels.LAST_FINISH_MS])
    shares: list[float] = (run.queues.busy_ms_D / (run.paths.servers_D * max(span_ms, 1e-300))).tolist()
    return shares


def _verdict(run: Run, busiest: float) -> Verdict:
    last_arrival_ms = float(run.queues.clock_ms[0])
    drain_ms = float(run.totals.sums[kernels.LAST_FINISH_MS]) - last_arrival_ms
    if busiest <= _BUSY_SHARE:
        return "stable"
    return "overloaded" if drain_ms > max(run.sla_ms, _GROWTH_SHARE * last_arrival_ms) else "near-saturation"


def _energy_j(plan: Plan, run: Run, utilisation: list[float], served: int) -> float | None:
    """Per query: idle power all the time (0 where unknown), the rest while busy; None where a busy power is unknown."""
    span_s = float(run.totals.sums[kernels.LAST_FINISH_MS]) / MS_PER_S
    total_j = 0.0
    for device, used in zip(plan.devices, utilisation, strict=True):
        if device.busy_w is None:
            return None
        idle_w = device.idle_w or 0.0
        total_j += span_s * (idle_w + (device.busy_w - idle_w) * used)
    return total_j / served


def _histogram(run: Run) -> LatencyHistogram:
    filled = np.flatnonzero(run.totals.histogram_B)
    first, last = int(filled[0]), int(filled[-1])
    return LatencyHistogram(
        edges_ms=bin_edges_ms()[first : last + 2], counts=run.totals.histogram_B[first : last + 1].copy()
    )


def _notes(plan: Plan, run: Run, counted: int) -> tuple[str, ...]:
    notes = []
    fastest_ms_S = run.paths.service_ms_SP[1:].min(axis=1)
    quickest = int(fastest_ms_S.argmin())
    if fastest_ms_S[quickest] > run.sla_ms:
        path = plan.paths[int(run.paths.service_ms_SP[quickest + 1].argmin())]
        notes.append(
            f"sla_ms: {format_ms(run.sla_ms)} is below the fastest path: {path.name} takes "
            f"{format_ms(fastest_ms_S[quickest])} on average at size {quickest + 1}, even on an idle device"
        )
    if extrapolated := int(run.totals.counts[kernels.EXTRAPOLATED]):
        share = extrapolated / counted
        notes.append(f"{extrapolated} queries ({share:.3%}) had a size outside the latency table of their path")
    if any(device.busy_w is not None and device.idle_w is None for device in plan.devices):
        notes.append("energy: a device without a known idle power counts as drawing none while idle")
    return (*notes, _sla_note(plan.workload.percentile, run, counted))


def _sla_note(percentile: float, run: Run, counted: int) -> str:
    late = int(run.totals.counts[kernels.VIOLATIONS]) / counted
    held = "yes" if holds_sla(run, percentile) else "no"
    return f"holds the SLA: {held}, {100 * late:.3g} % late, {100 - percentile:.3g} % allowed"
