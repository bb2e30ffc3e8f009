"""A replay beside its simulations: queue logic, prediction from calibration segments, the plan's own tables.

A run is cut into short segments. The odd ones calibrate, the even ones are judged, so that a machine that
drifts does so in both; how far apart the two are measured is the yardstick of every error.

Shape suffixes: N queries.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.engine import warmup_of
from serving_sim.plan import Plan
from serving_sim.policies import PolicyLike
from serving_sim.replay.calibration import Calibration, calibrate
from serving_sim.replay.figures import Figures, figures_of, mean_figures
from serving_sim.replay.live import LiveTrace
from serving_sim.replay.prediction import Outcome, predict, predict_as_planned, queue_logic

__all__ = ["AS_PLANNED", "CALIBRATED", "Beside", "PathComparison", "RunComparison", "compare_run"]

CALIBRATED, AS_PLANNED = "simulated, calibrated in the same run", "simulated, the plan's own tables"

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_REPETITIONS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Beside:
    """Figures of the same queries, measured and simulated; None where one side served none of them."""

    measured: Figures | None
    simulated: Figures | None

    @property
    def error(self) -> Figures | None:
        """Simulated against measured: relative for percentiles, a difference of shares for violations."""
        if self.measured is None or self.simulated is None:
            return None
        return self.simulated.error(self.measured)

    def to_object(self) -> dict[str, Any]:
        """`measured`, `simulated` and `error`, each an object or null."""
        parts = {"measured": self.measured, "simulated": self.simulated, "error": self.error}
        return {name: None if part is None else asdict(part) for name, part in parts.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class PathComparison:
    """A path's share of the judged queries, routed live and in simulation, and the latencies of those."""

    name: str
    share: float
    simulated_share: float
    beside: Beside

    def to_object(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "name": self.name,
            "share": self.share,
            "simulated_share": self.simulated_share,
            **self.beside.to_object(),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class RunComparison:
    """One run. `predicted` and `as_planned` are of the judged segments, `queue_logic` of all counted queries.

    `spread` is the judged segments against the calibrating ones, as measured: the run's own scatter. `load` is the
    share of the measured capacity, None where the rate was given. `trace` has every query as it was served, of which
    those of `is_judged_N` are judged; `simulated_ms_by` has the latencies of these in simulations (NaN where refused),
    by what these rest on.
    """

    qps: float
    load: float | None
    queries: int
    refused: int
    utilisation: dict[str, float]
    late_ms: dict[str, float]
    predicted: Beside
    queue_logic: Beside
    as_planned: Beside
    spread: Figures | None
    paths: tuple[PathComparison, ...]
    calibration: Calibration
    notes: tuple[str, ...]
    slas_ms: tuple[float, ...]
    trace: LiveTrace = field(repr=False, compare=False)
    is_judged_N: Mask = field(repr=False, compare=False)
    simulated_ms_by: Mapping[str, Floats] = field(repr=False, compare=False)

    def to_object(self) -> dict[str, Any]:
        """The JSON object of a run in `recplan replay`."""
        return {
            "qps": self.qps,
            "load": self.load,
            "queries": self.queries,
            "refused": self.refused,
            "devices": [{"name": name, "utilisation": used} for name, used in self.utilisation.items()],
            "generator_late_ms": dict(self.late_ms),
            **self.predicted.to_object(),
            "spread": None if self.spread is None else asdict(self.spread),
            "queue_logic": self.queue_logic.to_object(),
            "as_planned": self.as_planned.to_object(),
            "paths": [path.to_object() for path in self.paths],
            "calibration": self.calibration.to_object(),
            "notes": list(self.notes),
        }


def compare_run(
    plan: Plan, policy: PolicyLike | None, trace: LiveTrace, *, segment_s: float, load: float | None = None
) -> RunComparison:
    """Judge a run of the plan; its first hundredth is not counted, as in a simulation."""
    queries, count = trace.queries, len(trace.queries)
    is_counted_N = np.arange(count) >= warmup_of(count)
    is_odd_N = (queries.arrival_ms_N // (segment_s * MS_PER_S)).astype(int) % 2 == 0
    fitted_N, judged_N = is_counted_N & is_odd_N, is_counted_N & ~is_odd_N
    sla_ms_N = np.array(plan.workload.slas_ms)[queries.class_N]
    calibration = calibrate(plan, trace, fitted_N)
    predicted = list(predict(plan, policy, queries, calibration, repetitions=_REPETITIONS, seed=plan.seed))
    as_planned = predict_as_planned(plan, policy, queries)

    def measured(mask_N: Mask) -> Figures | None:
        return figures_of(trace.latency_ms_N[mask_N], sla_ms_N[mask_N])

    def simulated(outcomes: Sequence[Outcome], mask_N: Mask) -> Figures | None:
        return mean_figures(figures_of(one.latency_ms_N[mask_N], sla_ms_N[mask_N]) for one in outcomes)

    before, judged = measured(fitted_N), measured(judged_N)
    return RunComparison(
        qps=plan.workload.qps,
        load=load,
        queries=count,
        refused=int(np.sum(trace.path_N < 0)),
        utilisation=_utilisation(plan, trace),
        late_ms=_lateness(trace, is_counted_N),
        predicted=Beside(measured=judged, simulated=simulated(predicted, judged_N)),
        queue_logic=Beside(
            measured=measured(is_counted_N), simulated=simulated([queue_logic(plan, trace)], is_counted_N)
        ),
        as_planned=Beside(measured=judged, simulated=simulated([as_planned], judged_N)),
        spread=before.error(judged) if before and judged else None,
        paths=tuple(_paths(plan, trace, predicted, judged_N, sla_ms_N)),
        calibration=calibration,
        notes=trace.notes,
        slas_ms=plan.workload.slas_ms,
        trace=trace,
        is_judged_N=judged_N,
        simulated_ms_by={
            CALIBRATED: np.concatenate([one.latency_ms_N[judged_N] for one in predicted]),
            AS_PLANNED: as_planned.latency_ms_N[judged_N],
        },
    )


def _paths(
    plan: Plan, trace: LiveTrace, predicted: Sequence[Outcome], judged_N: Mask, sla_ms_N: Floats
) -> Iterator[PathComparison]:
    judged = max(int(judged_N.sum()), 1)
    for place, path in enumerate(plan.paths):
        took_N = judged_N & (trace.path_N == place)
        would_take = [judged_N & (one.path_N == place) for one in predicted]
        simulated = [
            figures_of(one.latency_ms_N[mask_N], sla_ms_N[mask_N])
            for one, mask_N in zip(predicted, would_take, strict=True)
        ]
        yield PathComparison(
            name=path.name,
            share=float(took_N.sum() / judged),
            simulated_share=float(np.mean([mask_N.sum() for mask_N in would_take]) / judged),
            beside=Beside(
                measured=figures_of(trace.latency_ms_N[took_N], sla_ms_N[took_N]), simulated=mean_figures(simulated)
            ),
        )


def _utilisation(plan: Plan, trace: LiveTrace) -> dict[str, float]:
    """Busy share of each device's servers until the last finish."""
    device_P = np.array([plan.device_of(path) for path in plan.paths])
    served_N = trace.path_N >= 0
    span_ms = float(np.nanmax(trace.finish_ms_N)) if served_N.any() else 1.0
    return {
        device.name: float(
            trace.service_ms_N[served_N & (device_P[trace.path_N] == place)].sum() / span_ms / device.servers
        )
        for place, device in enumerate(plan.devices)
    }


def _lateness(trace: LiveTrace, is_counted_N: Mask) -> dict[str, float]:
    """How late the generator had queries, which is part of every latency."""
    late_ms = np.sort((trace.sent_ms_N - trace.queries.arrival_ms_N)[is_counted_N])
    return {name: float(np.quantile(late_ms, share)) for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))}
