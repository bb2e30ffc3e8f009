"""Service times over query size, fitted to single queries: a table, what idleness costs, and what is left.

The log of the service time is linear in the log of the size between knots at powers of 2; least squares, with the
second differences of the knots held small, so that a knot with few queries follows its neighbours. Queries that found
the server idle for long took more: a time that is added whatever the size, or a factor. When "long" begins is the one
of a few candidates that fits best.

Shape suffixes: N queries, K knots.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serving_sim.plan import IdleGap

__all__ = ["FEWEST", "ServiceFit", "fit_service"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Fewer queries say too little of a path's shape.
FEWEST = 50
_IDLE_AFTER_MS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_FEWEST_IDLE = 25
_STIFFNESS = 1.0
# By how much the log-likelihood has to grow, doubled: a gap by its two numbers (Akaike), and a factor has to be ten
# times as likely as added time, which is what pauses were seen to cost.
_GAP_IS_WORTH, _FACTOR_IS_WORTH = 4.0, 2 * np.log(10.0)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ServiceFit:
    """Mean service time at the knots of queries that found the server warm.

    `residual_N` is observed over fitted service time, without what idleness added; of a query that took less than was
    added to the usual one, as little as that of any query that found the server warm.
    """

    sizes: tuple[int, ...]
    mean_ms: tuple[float, ...]
    idle_gap: IdleGap | None
    residual_N: Floats


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Solved:
    """Logs of the service time at the knots, and the sum of squares that is left of the queries' logs."""

    log_ms_K: Floats
    gap: IdleGap | None
    left: float


def fit_service(size_N: NDArray[np.int64], service_ms_N: Floats, idle_ms_N: Floats) -> ServiceFit:
    """Fit at least `FEWEST` queries; where idle times are NaN, nothing is said of idleness."""
    sizes = _knots(int(size_N.min()), int(size_N.max()))
    basis_NK = _hats(size_N, sizes)
    solved = _best(basis_NK, service_ms_N, idle_ms_N)
    log_ms_K = np.maximum.accumulate(solved.log_ms_K)
    residual_N = _residuals(np.exp(basis_NK @ log_ms_K), service_ms_N, idle_ms_N, solved.gap)
    scale = float(np.mean(residual_N))
    return ServiceFit(
        sizes=sizes,
        mean_ms=tuple((scale * np.exp(log_ms_K)).tolist()),
        idle_gap=solved.gap,
        residual_N=residual_N / scale,
    )


def _residuals(warm_ms_N: Floats, service_ms_N: Floats, idle_ms_N: Floats, gap: IdleGap | None) -> Floats:
    if gap is None:
        return service_ms_N / warm_ms_N
    is_cold_N = idle_ms_N > gap.after_ms
    own_ms_N = service_ms_N - np.where(is_cold_N, gap.added_ms, 0.0)
    residual_N: Floats = own_ms_N / (warm_ms_N * np.where(is_cold_N, gap.factor, 1.0))
    if gap.added_ms:
        residual_N = np.maximum(residual_N, residual_N[~is_cold_N].min())
    return residual_N


def _knots(least: int, most: int) -> tuple[int, ...]:
    powers = [2**power for power in range(most.bit_length() + 1) if least < 2**power < most]
    return tuple(dict.fromkeys((least, *powers, most)))


def _hats(size_N: NDArray[np.int64], sizes: tuple[int, ...]) -> Floats:
    """Each query's weights [N, K] on the knots, in log size."""
    log_sizes = np.log(np.array(sizes, dtype=np.float64))
    units = np.eye(len(sizes))
    return np.stack([np.interp(np.log(size_N), log_sizes, unit) for unit in units], axis=1)


def _best(basis_NK: Floats, service_ms_N: Floats, idle_ms_N: Floats) -> _Solved:
    """No gap, an added time or a factor: the likeliest that is worth its numbers."""
    plain = _with_factor(basis_NK, service_ms_N, np.inf, idle_ms_N)
    gaps = _candidates(idle_ms_N)
    if not gaps:
        return plain
    factor = _least([_with_factor(basis_NK, service_ms_N, after_ms, idle_ms_N) for after_ms in gaps])
    added = _least([_with_added(basis_NK, service_ms_N, after_ms, idle_ms_N) for after_ms in gaps])
    count = len(service_ms_N)
    gap = factor if factor.left < added.left * np.exp(-_FACTOR_IS_WORTH / count) else added
    return gap if gap.left < plain.left * np.exp(-_GAP_IS_WORTH / count) else plain


def _least(solved: Iterable[_Solved]) -> _Solved:
    return min(solved, key=lambda one: one.left)


def _candidates(idle_ms_N: Floats) -> tuple[float, ...]:
    """The idle times beyond which there are enough queries, and enough up to them."""
    beyond = [int(np.sum(idle_ms_N > after_ms)) for after_ms in _IDLE_AFTER_MS]
    return tuple(
        after_ms
        for after_ms, count in zip(_IDLE_AFTER_MS, beyond, strict=True)
        if _FEWEST_IDLE <= count <= len(idle_ms_N) - _FEWEST_IDLE
    )


def _bend(knots: int) -> Floats:
    """Second differences of the knots, and a column of zeros for what idleness costs."""
    bend = np.diff(np.eye(knots), n=2, axis=0) * _STIFFNESS if knots > 2 else np.empty((0, knots))
    return np.pad(bend, ((0, 0), (0, 1)))


def _with_factor(basis_NK: Floats, service_ms_N: Floats, after_ms: float, idle_ms_N: Floats) -> _Solved:
    """A factor after `after_ms` of idleness, which is linear in logs; infinity: none."""
    design, bend = np.column_stack([basis_NK, idle_ms_N > after_ms]), _bend(basis_NK.shape[1])
    log_ms_N = np.log(service_ms_N)
    target = np.concatenate([log_ms_N, np.zeros(len(bend))])
    # The column of a gap that nobody had is zero, and so is what the smallest solution says of it.
    found = np.linalg.lstsq(np.vstack([design, bend]), target, rcond=None)[0]
    gap = IdleGap(after_ms=after_ms, factor=float(np.exp(found[-1]))) if np.isfinite(after_ms) else None
    return _Solved(log_ms_K=found[:-1], gap=gap, left=float(np.sum((log_ms_N - design @ found) ** 2)))


def _with_added(basis_NK: Floats, service_ms_N: Floats, after_ms: float, idle_ms_N: Floats) -> _Solved:
    """A time, 0 at least, added after `after_ms` of idleness."""
    from scipy.optimize import least_squares

    start = _with_factor(basis_NK, service_ms_N, after_ms, idle_ms_N)
    is_cold_N, log_ms_N, bend = idle_ms_N > after_ms, np.log(service_ms_N), _bend(basis_NK.shape[1])
    longer_ms = float(np.median(service_ms_N[is_cold_N]) - np.median(service_ms_N[~is_cold_N]))

    def residuals(found: Floats) -> Floats:
        return np.concatenate([np.log(np.exp(basis_NK @ found[:-1]) + found[-1] * is_cold_N) - log_ms_N, bend @ found])

    def slopes(found: Floats) -> Floats:
        own_ms_N = np.exp(basis_NK @ found[:-1])
        design = np.column_stack([basis_NK * own_ms_N[:, np.newaxis], is_cold_N])
        return np.vstack([design / (own_ms_N + found[-1] * is_cold_N)[:, np.newaxis], bend])

    lowest = np.append(np.full(basis_NK.shape[1], -np.inf), 0.0)
    found: Floats = least_squares(
        residuals, np.append(start.log_ms_K, max(0.0, longer_ms)), jac=slopes, bounds=(lowest, np.inf)
    ).x
    left = float(np.sum(residuals(found)[: len(log_ms_N)] ** 2))
    return _Solved(log_ms_K=found[:-1], gap=IdleGap(after_ms=after_ms, added_ms=float(found[-1])), left=left)
