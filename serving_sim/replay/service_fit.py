"""Service times over query size, fitted to single queries: a table, a factor after idleness, and what is left.

The log of the service time is linear in the log of the size between knots at powers of 2, plus a step for queries that
found the server idle for long; least squares, with the second differences of the knots held small, so that a knot with
few queries follows its neighbours. When "long" begins is the one of a few candidates that fits best.

Shape suffixes: N queries, K knots.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from serving_sim.plan import IdleGap

__all__ = ["FEWEST", "ServiceFit", "fit_service"]

Floats = NDArray[np.float64]

# Fewer queries say too little of a path's shape.
FEWEST = 50
_IDLE_AFTER_MS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_FEWEST_IDLE = 25
_STIFFNESS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ServiceFit:
    """Mean service time at the knots of queries that found the server warm; `residual_N` is observed over fitted."""

    sizes: tuple[int, ...]
    mean_ms: tuple[float, ...]
    idle_gap: IdleGap | None
    residual_N: Floats


def fit_service(size_N: NDArray[np.int64], service_ms_N: Floats, idle_ms_N: Floats) -> ServiceFit:
    """Fit at least `FEWEST` queries; where idle times are NaN, nothing is said of idleness."""
    sizes = _knots(int(size_N.min()), int(size_N.max()))
    basis_NK = _hats(size_N, sizes)
    fits = [_solve(basis_NK, service_ms_N, after_ms, idle_ms_N > after_ms) for after_ms in _candidates(idle_ms_N)]
    log_ms_K, gap, _ = min(fits, key=lambda fit: fit[2])
    log_ms_K = np.maximum.accumulate(log_ms_K)
    factor_N = np.where(idle_ms_N > gap.after_ms, gap.factor, 1.0) if gap else np.ones(len(size_N))
    fitted_N = np.exp(basis_NK @ log_ms_K) * factor_N
    scale = float(np.mean(service_ms_N / fitted_N))
    return ServiceFit(
        sizes=sizes,
        mean_ms=tuple((scale * np.exp(log_ms_K)).tolist()),
        idle_gap=gap,
        residual_N=service_ms_N / (scale * fitted_N),
    )


def _knots(least: int, most: int) -> tuple[int, ...]:
    powers = [2**power for power in range(most.bit_length() + 1) if least < 2**power < most]
    return tuple(dict.fromkeys((least, *powers, most)))


def _hats(size_N: NDArray[np.int64], sizes: tuple[int, ...]) -> Floats:
    """Each query's weights [N, K] on the knots, in log size."""
    log_sizes = np.log(np.array(sizes, dtype=np.float64))
    units = np.eye(len(sizes))
    return np.stack([np.interp(np.log(size_N), log_sizes, unit) for unit in units], axis=1)


def _candidates(idle_ms_N: Floats) -> tuple[float, ...]:
    """Infinity (no such step) and the idle times beyond which there are enough queries, and enough up to them."""
    beyond = [int(np.sum(idle_ms_N > after_ms)) for after_ms in _IDLE_AFTER_MS]
    enough = [
        after_ms
        for after_ms, count in zip(_IDLE_AFTER_MS, beyond, strict=True)
        if _FEWEST_IDLE <= count <= len(idle_ms_N) - _FEWEST_IDLE
    ]
    return (np.inf, *enough)


def _solve(
    basis_NK: Floats, service_ms_N: Floats, after_ms: float, is_cold_N: NDArray[np.bool_]
) -> tuple[Floats, IdleGap | None, float]:
    """Logs at the knots, the step, and the sum of squares that is left."""
    knots, has_step = basis_NK.shape[1], np.isfinite(after_ms)
    design = np.column_stack([basis_NK, is_cold_N]) if has_step else basis_NK
    bend = np.diff(np.eye(knots), n=2, axis=0) * _STIFFNESS if knots > 2 else np.empty((0, knots))
    bend = np.pad(bend, ((0, 0), (0, int(has_step))))
    target = np.concatenate([np.log(service_ms_N), np.zeros(len(bend))])
    found = np.linalg.lstsq(np.vstack([design, bend]), target, rcond=None)[0]
    left = float(np.sum((np.log(service_ms_N) - design @ found) ** 2))
    gap = IdleGap(after_ms=after_ms, factor=float(np.exp(found[-1]))) if has_step else None
    return found[:knots], gap, left
