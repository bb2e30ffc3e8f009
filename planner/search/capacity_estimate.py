"""How many queries a second a device serves within its SLA, for very many candidates at once, by queueing formulas.

First come, first served, on `servers` equal servers. The chance of a wait is Erlang's, its mean that of Allen and
Cunneen, `(ca^2 + cs^2) / 2` times that of M/M/c, and beyond 0 it is taken as exponential, which it is in heavy traffic
(Kingman 1961). The simulator is what tells the truth; this orders candidates. Array suffixes: N candidates, R rows of
alike queries, Q quantiles of the scatter of one query's service.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.search.accuracy_model import Floats
from profiles.errors import InputError
from profiles.units import MS_PER_S

__all__ = ["QueryRows", "capacity_qps"]

# So many halvings find a rate to a ten-thousandth.
_HALVINGS = 16
# Middles of ten equal parts of the normal distribution, and its last two percents apart, which decide a p99.
_SHARES = np.array([0.1] * 9 + [0.05, 0.03, 0.02])
_NORMALS = np.array(
    [-1.6449, -1.0364, -0.6745, -0.3853, -0.1257, 0.1257, 0.3853, 0.6745, 1.0364, 1.4395, 1.8119, 2.3263]
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class QueryRows:
    """R rows of queries: which share of all each is, and until when its queries must be done.

    `percentile` of the queries of each SLA must hold it; `arrival_cv` is the coefficient of variation of the gaps.
    """

    share_R: Floats
    sla_ms_R: Floats
    percentile: float
    arrival_cv: float = 1.0

    def __post_init__(self) -> None:
        if self.share_R.shape != self.sla_ms_R.shape or not len(self.share_R):
            raise InputError("capacity: needs rows with a share and an SLA each")
        if not 0 < self.percentile < 100:
            raise InputError(f"capacity: percentile must be in (0, 100), but got {self.percentile}")


def capacity_qps(service_ms_NR: Floats, rows: QueryRows, *, servers: int = 1, sigma: float = 0.0) -> Floats:
    """[N]: the highest rate at which every SLA holds, 0 where it does not hold even without waits.

    `service_ms_NR` are mean service times, about which single queries scatter as a lognormal of `sigma`.
    """
    mean_N = service_ms_NR @ rows.share_R
    square_N = (service_ms_NR**2) @ rows.share_R * np.exp(sigma**2)
    variation_N = (rows.arrival_cv**2 + square_N / mean_N**2 - 1) / 2
    quantiles_NRQ = _quantiles(service_ms_NR, sigma)
    low_N, high_N = np.zeros(len(mean_N)), np.ones(len(mean_N))
    for _ in range(_HALVINGS):
        load_N = (low_N + high_N) / 2
        holds_N = _holds(load_N, mean_N, variation_N, quantiles_NRQ, rows, servers, sigma)
        low_N, high_N = np.where(holds_N, load_N, low_N), np.where(holds_N, high_N, load_N)
    # A load that never held is what the halvings could not tell from none.
    return np.where(low_N > 0, low_N * servers * MS_PER_S / mean_N, 0.0)


def _quantiles(service_ms_NR: Floats, sigma: float) -> Floats:
    if sigma == 0:
        return service_ms_NR[:, :, None]
    return service_ms_NR[:, :, None] * np.exp(sigma * _NORMALS - sigma**2 / 2)


def _holds(
    load_N: Floats,
    mean_ms_N: Floats,
    variation_N: Floats,
    quantiles_NRQ: Floats,
    rows: QueryRows,
    servers: int,
    sigma: float,
) -> NDArray[np.bool_]:
    """Whether every SLA holds at these loads."""
    waits_N = _erlang_c(load_N, servers)
    # Of those that wait: M/M/c's mean wait over its chance of one, and the factor of the variations.
    mean_wait_N = np.maximum(variation_N, 1e-6) * mean_ms_N / (servers * (1 - load_N))
    slack_NRQ = rows.sla_ms_R[None, :, None] - quantiles_NRQ
    late_NRQ = np.where(
        slack_NRQ < 0,
        1.0,
        waits_N[:, None, None] * np.exp(-np.maximum(slack_NRQ, 0.0) / mean_wait_N[:, None, None]),
    )
    late_NR = late_NRQ[:, :, 0] if sigma == 0 else late_NRQ @ _SHARES
    holds_N = np.ones(len(load_N), dtype=np.bool_)
    for sla_ms in np.unique(rows.sla_ms_R).tolist():
        alike = rows.sla_ms_R == sla_ms
        share_late_N = late_NR[:, alike] @ rows.share_R[alike] / rows.share_R[alike].sum()
        holds_N &= share_late_N <= 1 - rows.percentile / 100
    return holds_N


def _erlang_c(load_N: Floats, servers: int) -> Floats:
    """The chance of a wait in M/M/c at each load of its servers."""
    offered_N, blocking_N = load_N * servers, np.ones(len(load_N))
    for used in range(1, servers + 1):
        blocking_N = offered_N * blocking_N / (used + offered_N * blocking_N)
    waits_N: Floats = blocking_N / (1 - load_N * (1 - blocking_N))
    return waits_N
