"""What became of each class of queries. A load without classes has one, of all queries."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from serving_sim import kernels
from serving_sim.error_bars import ErrorBar, no_bars, run_bars
from serving_sim.histogram import PERCENTILES, histogram_percentiles, rank
from serving_sim.kernels import Ints
from serving_sim.plan import Plan
from serving_sim.run import Run
from serving_sim.verdict import Verdict

__all__ = ["PERCENTILES", "ClassResult", "bars_of", "class_results", "holds_percentile", "holds_sla", "or_none"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassResult:
    """The counted queries of a class: latencies of those served (NaN where none was), the rest of all of them.

    `goodput_qps` is how many finished within the class's SLA per second, `correct_predictions_in_sla_per_s` how many
    predictions of theirs were right. Percentiles come from the histogram. `holds_sla` is None where so few cannot tell.
    """

    name: str
    sla_ms: float
    counted: int
    refused: int
    latency_ms: dict[str, float]
    mean_latency_ms: float
    sla_violation_share: float
    holds_sla: bool | None
    goodput_qps: float
    correct_predictions_in_sla_per_s: float
    error_bars: dict[str, ErrorBar] = field(default_factory=dict)

    def to_object(self) -> dict[str, Any]:
        """The JSON object of a class in `recplan simulate`; latencies of none are null."""
        return {
            "name": self.name,
            "sla_ms": self.sla_ms,
            "counted": self.counted,
            "refused": self.refused,
            "latency_ms": {name: or_none(value) for name, value in self.latency_ms.items()},
            "mean_latency_ms": or_none(self.mean_latency_ms),
            "sla_violation_share": self.sla_violation_share,
            "error_bars": {name: asdict(bar) for name, bar in self.error_bars.items()},
            "holds_sla": self.holds_sla,
            "goodput_qps": self.goodput_qps,
            "correct_predictions_in_sla_per_s": self.correct_predictions_in_sla_per_s,
        }


def class_results(plan: Plan, run: Run, duration_s: float, verdict: Verdict) -> tuple[ClassResult, ...]:
    """The result of every class, in the plan's order; none of a load without classes."""
    return tuple(
        _class_result(place, one.name, plan.workload.percentile, run, duration_s, verdict)
        for place, one in enumerate(plan.workload.classes)
    )


def holds_sla(run: Run, percentile: float) -> bool | None:
    """Whether, in every class, that percentile of the counted queries is within the SLA; a refused one is not.

    None where no class misses its SLA, but one has too few queries to tell.
    """
    counts_CF = run.totals.counts_CF
    held = [
        holds_percentile(int(counted), int(late), percentile)
        for counted, late in zip(counts_CF[:, kernels.COUNTED], counts_CF[:, kernels.VIOLATIONS], strict=True)
    ]
    return False if False in held else None if None in held else True


def holds_percentile(counted: int, late: int, percentile: float) -> bool | None:
    """Whether that percentile of so many queries is within the SLA, of which so many are late.

    None where none is late and a single one would be too many: so few queries tell nothing of what is rarer.
    """
    if not counted:
        return None
    allowed = counted - 1 - rank(percentile, counted)
    return False if late > allowed else None if allowed == 0 else True


def bars_of(
    run: Run, class_: slice, histogram_KB: Ints, latency_ms: Mapping[str, float], verdict: Verdict
) -> dict[str, ErrorBar]:
    """Error bars by the queries drawn, of such classes; none where the backlog grows, as the run's length decides."""
    if verdict == "overloaded":
        return no_bars()
    totals = run.totals
    done = min(int(totals.counts[kernels.COUNTED]) // totals.section_queries, len(histogram_KB) - 1)
    sections_KF = totals.sections_CKF[class_].sum(axis=0)
    counted_K, late_K = sections_KF[:, kernels.COUNTED], sections_KF[:, kernels.VIOLATIONS]
    return run_bars(histogram_KB, counted_K, late_K, latency_ms, done)


def _class_result(
    place: int, name: str, percentile: float, run: Run, duration_s: float, verdict: Verdict
) -> ClassResult:
    counts, sums, histogram_KB = run.totals.counts_CF[place], run.totals.sums_CF[place], run.totals.histogram_CKB[place]
    counted, late, refused = (int(counts[figure]) for figure in (kernels.COUNTED, kernels.VIOLATIONS, kernels.REFUSED))
    served = counted - refused
    wanted = tuple(PERCENTILES.values())
    values = histogram_percentiles(histogram_KB.sum(axis=0), wanted) if served else (math.nan,) * len(wanted)
    latency_ms = dict(zip(PERCENTILES, values, strict=True))
    per_s = 1 / duration_s if duration_s else 0.0
    return ClassResult(
        name=name,
        sla_ms=float(run.sla_ms_C[place]),
        counted=counted,
        refused=refused,
        latency_ms=latency_ms,
        mean_latency_ms=float(sums[kernels.LATENCY_MS]) / served if served else math.nan,
        sla_violation_share=late / counted if counted else 0.0,
        holds_sla=holds_percentile(counted, late, percentile),
        goodput_qps=(counted - late) * per_s,
        correct_predictions_in_sla_per_s=float(sums[kernels.CORRECT_IN_SLA]) * per_s,
        error_bars=bars_of(run, slice(place, place + 1), histogram_KB, latency_ms, verdict),
    )


def or_none(value: float) -> float | None:
    """A figure as JSON and tables have it: NaN, which there is where nothing was served, is none."""
    return value if math.isfinite(value) else None
