"""The very blocks of queries that were served, simulated with a latency table: the highest rate that it predicts there.

A simulation of the load without end answers another question: near saturation a queue takes longer to grow than a
block lasts, and the percentile of few queries that are late together is seldom that of many.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from serving_sim.plan import LatencyTable, Plan
from serving_sim.replay import Calibration, LiveTrace
from serving_sim.replay.prediction import predict, queue_logic
from serving_sim.table_errors import with_table_errors
from tests.benchmarks.rising_load import highest_of

__all__ = ["REPETITIONS", "PredictedRate", "predict_highest", "queue_logic_highest", "residuals_of", "with_table"]

Floats = NDArray[np.float64]
Served = Sequence[tuple[LiveTrace, NDArray[np.int64]]]

REPETITIONS = 100
_RESIDUALS = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictedRate:
    """The median over simulations, and a 95 % interval that includes the table's error bars."""

    qps: float
    low_qps: float
    high_qps: float


def predict_highest(
    plan: Plan, rates: Sequence[float], served: Served, residual_N: Floats | None = None, late_ms: float = 0.0
) -> PredictedRate:
    """The rate found if the served queries had the service times of the plan's table.

    `residual_N` is observed over tabled service time of queries in their order, drawn from the table's spread where
    not given; `late_ms` is added to every latency.
    """
    residual_N = residuals_of(plan.paths[0].latency) if residual_N is None else residual_N
    rng = np.random.default_rng(0)
    found = [_found(plan, rates, served, residual_N, late_ms, seed) for seed in range(REPETITIONS)]
    with_errors = [
        _found(with_table_errors(plan, sigmas) or plan, rates, served, residual_N, late_ms, seed)
        for seed, sigmas in enumerate(rng.standard_normal(REPETITIONS).tolist())
    ]
    low, high = np.quantile(with_errors, (0.025, 0.975)).tolist()
    return PredictedRate(qps=float(np.median(found)), low_qps=low, high_qps=high)


def queue_logic_highest(plan: Plan, rates: Sequence[float], served: Served) -> float:
    """The rate found if every query had the service time that it had, and only queueing were simulated."""
    return highest_of(plan, rates, [(queue_logic(plan, trace).latency_ms_N, block_N) for trace, block_N in served])


def residuals_of(table: LatencyTable, seed: int = 0) -> Floats:
    """Factors of mean 1, lognormal with the table's sigma, their logs with its lag-1 correlation."""
    rho = table.correlation
    sigma = table.sigma if table.spread == "lognormal" else 0.0
    drawn_N = np.random.default_rng(seed).standard_normal(_RESIDUALS)
    logs_N = lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], drawn_N)
    factors_N: Floats = np.exp(sigma * logs_N - sigma**2 / 2)
    return factors_N


def _found(plan: Plan, rates: Sequence[float], served: Served, residual_N: Floats, late_ms: float, seed: int) -> float:
    calibration = Calibration(plan=plan, dispatch_ms_D=(late_ms,), handover_ms_D=(0.0,), residual_D=(residual_N,))
    simulated = []
    for place, (trace, block_N) in enumerate(served):
        own_seed = seed * len(served) + place
        outcome = next(predict(plan, None, trace.queries, calibration, repetitions=1, seed=own_seed))
        simulated.append((outcome.latency_ms_N, block_N))
    return highest_of(plan, rates, simulated)


def with_table(plan: Plan, table: LatencyTable) -> Plan:
    """The plan of one path, with another table."""
    return replace(plan, paths=(replace(plan.paths[0], latency=table),))
