"""What a study's candidates are judged by before training: every cost, one by one or by column."""

import math
from dataclasses import dataclass

import numpy as np

from planner.cost_model.composition import CostModel
from planner.mapping.demand import demand_of
from planner.pipeline.data import StudyData
from planner.search import Predicted, Predictor
from planner.search.capacity_estimate import QueryRows
from planner.search.cost_columns import COSTS, CostColumns, JudgedDevice, ServedLoad
from planner.search.objective import METRICS
from planner.study import Study
from representations.specs import ModelSpec
from serving_sim.arrivals import GapStream
from serving_sim.plan import Arrivals, Workload

__all__ = ["JudgedPredictor", "arrival_cv", "served_load", "study_columns"]

_GAPS, _GAPS_TOGETHER = 60_000, 100


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedPredictor:
    """A predictor of single models that prices them by column too; `memory_bytes` is what the judged device has."""

    one: Predictor
    by_column: CostColumns
    memory_bytes: int | None

    def __call__(self, spec: ModelSpec, /) -> Predicted:
        """The predicted costs of `spec`."""
        return self.one(spec)


def study_columns(study: Study, data: StudyData, cost_model: CostModel) -> CostColumns:
    """The costs that the study's objectives and constraints name, by column.

    Raises:
        InputError: a cost that a device lacks a price, a power or a memory for, once it is asked for.
    """
    asked = dict.fromkeys((*study.search.objectives, *study.search.limits))
    wanted = tuple(name for name in asked if name not in (*COSTS, *METRICS))
    devices = {
        one.name: JudgedDevice(
            name=one.name, servers=one.servers, memory_bytes=one.memory_bytes, price_per_hour=one.price_per_hour
        )
        for one in study.devices
    }
    return CostColumns(
        cost_model=cost_model,
        devices=devices,
        device=study.latency_device,
        batch=study.latency_batch,
        zipf=data.zipf,
        wanted=wanted,
        load=served_load(study.workload.to_plan(study.folder)) if "capacity_qps" in wanted else None,
    )


def served_load(workload: Workload) -> ServedLoad:
    """The workload as capacity by formulas takes it; rates that change count as their mean."""
    demand = demand_of(workload)
    rows = QueryRows(
        share_R=demand.rate_per_ms_R / demand.rate_per_ms_R.sum(),
        sla_ms_R=demand.sla_ms_R,
        percentile=workload.percentile,
        arrival_cv=arrival_cv(workload.arrivals),
    )
    return ServedLoad(size_R=demand.size_R, rows=rows)


def arrival_cv(arrivals: Arrivals) -> float:
    """The coefficient of variation of gaps that would queue as these do; of a trace that of sums of many gaps.

    Gaps of a trace go together, and a queue near its capacity sees many of them at a time.
    """
    if arrivals.process in ("gamma", "weibull"):
        return arrivals.cv
    if arrivals.process != "trace":
        return 1.0
    gap_N = np.empty(_GAPS)
    GapStream(arrivals, np.random.default_rng(0), 0.0).fill(gap_N)
    sums = gap_N.reshape(-1, _GAPS_TOGETHER).sum(axis=1)
    return float(sums.std() * math.sqrt(_GAPS_TOGETHER) / sums.mean())
