"""What a run came to.

Counts, latencies and correct predictions are of the counted queries (after the warm-up), rates per second from the
first counted arrival to the last finish; utilisation, energy and cost are of the whole run. Latencies are those of the
queries that were served (NaN where none was, null in JSON); a refused one counts as late.

The warm-up is the first 1 % of the queries, 10,000 at most. `settling_share` is the share that MSER would cut off the
run's start, from mean latencies over time: where that is far more, the start is unlike the rest.

`verdict` says whether the plan can serve the load for good (see `serving_sim.verdict`), and nothing of the SLA: a
stable run may be late for other reasons. `holds_sla` says whether the SLA's percentile of the counted queries is within
the SLA, and None where they are too few to tell (below 100 for p99).
"""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S, SECONDS_PER_HOUR
from serving_sim import kernels
from serving_sim.backlog import Backlog, QueueOverTime
from serving_sim.class_metrics import PERCENTILES, ClassResult, bars_of, class_results, holds_sla, or_none
from serving_sim.error_bars import ErrorBar
from serving_sim.histogram import bin_edges_ms, exact_percentiles, histogram_percentiles
from serving_sim.plan import Plan
from serving_sim.result_notes import result_notes
from serving_sim.run import Run
from serving_sim.verdict import Verdict, verdict_of_run

__all__ = ["PERCENTILES", "LatencyHistogram", "SimulationResult", "holds_sla", "summarise"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LatencyHistogram:
    """Counts of latencies (ms) between consecutive edges; only the bins from the first to the last filled one."""

    edges_ms: NDArray[np.float64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationResult:
    """The metrics of a run. Equal runs have equal results; how fast they ran does not count.

    `sla_ms` is that of all queries; with classes it is the loosest, and `slas_by_class` has each.
    """

    plan: str
    policy: str
    queries: int
    counted: int
    qps: float
    sla_ms: float
    verdict: Verdict
    holds_sla: bool | None
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
    """Per path, what `path_share_of` says, by size class of the query: class c holds sizes in [2^c, 2^(c+1))."""
    path_share_of: Literal["queries", "samples"] = "queries"
    """Of counted queries; where a policy splits them over paths, of their samples."""
    refused: int = 0
    goodput_qps: float = 0.0
    """Queries within their SLA per second."""
    cost_per_million_correct: float | None = None
    """Price of all devices over the correct predictions in the SLA; None where a price is unknown, or none was."""
    warmup: int = 0
    settling_share: float = 0.0
    classes: tuple[ClassResult, ...] = ()
    error_bars: dict[str, ErrorBar] = field(default_factory=dict)
    """Of each percentile and of `sla_violation_share`."""
    # Which bins were merged when, and so the last bit of their sums, follows the chunks.
    queue: QueueOverTime = field(compare=False, repr=False)
    latency_histogram: LatencyHistogram = field(compare=False, repr=False)
    simulated_queries_per_s: float = field(compare=False)

    @property
    def slas_by_class(self) -> dict[str, float] | None:
        """The SLA (ms) of each class of queries; none where there are no classes."""
        return {one.name: one.sla_ms for one in self.classes} or None

    def to_object(self) -> dict[str, Any]:
        """The JSON object of `recplan simulate`."""
        return {
            "plan": self.plan,
            "policy": self.policy,
            "queries": self.queries,
            "qps": self.qps,
            "sla_ms": self.sla_ms,
            "slas_by_class": self.slas_by_class,
            "verdict": self.verdict,
            "holds_sla": self.holds_sla,
            "fluid_bound_share": self.fluid_bound_share,
            "latency_ms": {name: or_none(value) for name, value in self.latency_ms.items()},
            "sla_violation_share": self.sla_violation_share,
            "error_bars": {name: asdict(bar) for name, bar in self.error_bars.items()},
            "correct_predictions_per_s": self.correct_predictions_per_s,
            "correct_predictions_in_sla_per_s": self.correct_predictions_in_sla_per_s,
            "accuracy": self.accuracy,
            "paths": [{"name": name, "share": share} for name, share in self.path_share.items()],
            "devices": [{"name": name, "utilisation": used} for name, used in self.device_utilisation.items()],
            "energy_j_per_query": self.energy_j_per_query,
            "simulated_queries_per_s": self.simulated_queries_per_s,
            "mean_latency_ms": or_none(self.mean_latency_ms),
            "mean_wait_ms": or_none(self.mean_wait_ms),
            "duration_s": self.duration_s,
            "extrapolated": self.extrapolated,
            "refused": self.refused,
            "goodput_qps": self.goodput_qps,
            "cost_per_million_correct": self.cost_per_million_correct,
            "warmup": self.warmup,
            "settling_share": self.settling_share,
            "path_share_of": self.path_share_of,
            "path_share_by_size": {name: list(counts) for name, counts in self.path_share_by_size.items()},
            "classes": [one.to_object() for one in self.classes],
            "queue": {"bin_s": self.queue.bin_s, **_queue_columns(self.queue)},
            "notes": list(self.notes),
        }


def summarise(
    plan: Plan, policy: str, run: Run, backlog: Backlog, seconds: float, bound: float | None
) -> SimulationResult:
    """The metrics of a run that took `seconds` of this machine; `bound` is on its correct predictions in the SLA."""
    counts, sums = run.totals.counts, run.totals.sums
    counted, arrived, refused = (int(counts[one]) for one in (kernels.COUNTED, kernels.ARRIVED, kernels.REFUSED))
    served = counted - refused
    duration_s = float(sums[kernels.LAST_FINISH_MS] - sums[kernels.FIRST_MS]) / MS_PER_S
    per_s = 1 / duration_s if duration_s > 0 else 0.0
    late, in_sla = int(counts[kernels.VIOLATIONS]), float(sums[kernels.CORRECT_IN_SLA])
    utilisation, settling_share = _utilisation(run), backlog.settling_share()
    share_of, by_class_PC, shared_out = _shared_out(run)
    verdict = verdict_of_run(run, max(utilisation), refused / counted)
    names, devices = [path.name for path in plan.paths], tuple(device.name for device in plan.devices)
    histogram_KB = run.totals.histogram_KB
    histogram_B = histogram_KB.sum(axis=0)
    latency_ms = _percentiles(run.totals.exact_ms, histogram_B)
    return SimulationResult(
        plan=plan.name,
        policy=policy,
        queries=arrived,
        counted=counted,
        qps=plan.workload.qps,
        sla_ms=run.sla_ms,
        verdict=verdict,
        holds_sla=holds_sla(run, plan.workload.percentile),
        latency_ms=latency_ms,
        mean_latency_ms=float(sums[kernels.LATENCY_MS]) / served if served else math.nan,
        mean_wait_ms=float(sums[kernels.WAIT_MS]) / served if served else math.nan,
        sla_violation_share=late / counted,
        correct_predictions_per_s=float(sums[kernels.CORRECT]) * per_s,
        correct_predictions_in_sla_per_s=in_sla * per_s,
        accuracy=float(sums[kernels.CORRECT]) / max(int(counts[kernels.SAMPLES]), 1),
        fluid_bound_share=in_sla / bound if bound else None,
        path_share=dict(zip(names, (by_class_PC.sum(axis=1) / shared_out).tolist(), strict=True)),
        device_utilisation=dict(zip(devices, utilisation, strict=True)),
        energy_j_per_query=_energy_j(plan, run, utilisation, arrived),
        duration_s=duration_s,
        extrapolated=int(counts[kernels.EXTRAPOLATED]),
        notes=result_notes(plan, run, counted, settling_share, verdict),
        path_share_of=share_of,
        path_share_by_size={name: tuple(row.tolist()) for name, row in zip(names, by_class_PC, strict=True)},
        refused=refused,
        goodput_qps=(counted - late) * per_s,
        cost_per_million_correct=_cost_per_million(plan, in_sla * per_s),
        warmup=run.warmup,
        settling_share=settling_share,
        classes=class_results(plan, run, duration_s, verdict),
        error_bars=bars_of(run, slice(None), histogram_KB, latency_ms, verdict),
        queue=backlog.over_time(devices, float(run.queues.clock_ms[0])),
        latency_histogram=_histogram(histogram_B),
        simulated_queries_per_s=arrived / max(seconds, 1e-9),
    )


def _queue_columns(queue: QueueOverTime) -> dict[str, Any]:
    return {
        "devices": [
            {
                "name": name,
                "mean_backlog_ms": list(queue.mean_backlog_ms[name]),
                "max_backlog_ms": list(queue.max_backlog_ms[name]),
                "mean_waiting": list(queue.mean_waiting[name]),
            }
            for name in queue.mean_backlog_ms
        ]
    }


def _shared_out(run: Run) -> tuple[Literal["queries", "samples"], NDArray[np.int64], int]:
    """What is shared out over paths: its unit, how much each path had by size class, and how much there was in all."""
    queries_S, samples_PC = run.totals.queries_CS.sum(axis=0), run.samples_PC
    if samples_PC is None:
        return "queries", run.totals.by_class_PC, int(queries_S.sum())
    return "samples", samples_PC, int(queries_S @ np.arange(len(queries_S)))


def _cost_per_million(plan: Plan, in_sla_per_s: float) -> float | None:
    prices = [device.price_per_hour for device in plan.devices]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices) or not in_sla_per_s:
        return None
    return sum(known) / SECONDS_PER_HOUR / in_sla_per_s * 1e6


def _percentiles(exact_ms: NDArray[np.float64], histogram_B: NDArray[np.int64]) -> dict[str, float]:
    """From the exact latencies, where all of them were kept."""
    wanted, served = tuple(PERCENTILES.values()), int(histogram_B.sum())
    if not served:
        return dict.fromkeys(PERCENTILES, math.nan)
    if served <= exact_ms.size:
        values = exact_percentiles(exact_ms[:served], histogram_B, wanted)
    else:
        values = histogram_percentiles(histogram_B, wanted)
    return dict(zip(PERCENTILES, values, strict=True))


def _utilisation(run: Run) -> list[float]:
    """Busy share of each device's servers, from time 0 to the last finish."""
    span_ms = float(run.totals.sums[kernels.LAST_FINISH_MS])
    shares: list[float] = (run.queues.busy_ms_D / (run.paths.servers_D * max(span_ms, 1e-300))).tolist()
    return shares


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


def _histogram(histogram_B: NDArray[np.int64]) -> LatencyHistogram:
    filled = np.flatnonzero(histogram_B)
    first, last = (int(filled[0]), int(filled[-1])) if filled.size else (0, 0)
    return LatencyHistogram(edges_ms=bin_edges_ms()[first : last + 2], counts=histogram_B[first : last + 1].copy())
