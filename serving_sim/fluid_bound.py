"""What no policy can beat: correct predictions within the SLA, and the rate that the devices can serve at all.

Both are fluid linear programs over (query, path), solved through their duals. The variables of a dual are one price of
device time per device, and by weak duality any prices >= 0 give a valid bound: a search that stops early is loose, but
never wrong.

- correct in the SLA <= sum over queries of max(0, max over paths of (accuracy x size - price x service))
  + sum over devices of price x available time. A query that is served in the SLA occupies its device between its
  arrival and its deadline, so the available time is `servers x (last arrival + SLA - first arrival)`; a path whose
  service alone exceeds the SLA earns nothing. Sizes and service factors are the realised ones.
- queries per ms <= sum of price x servers / mean over queries of min over paths of (price x service).

Shape suffixes: R rows (distinct queries), P paths, D devices, U used paths.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profiles.units import MS_PER_S
from serving_sim.ellipsoid import Cut, minimise_on_unit_box
from serving_sim.kernels import Chunk, PathArrays, dual_gradient, least_cost

__all__ = [
    "FluidRows",
    "best_prices",
    "bound_at",
    "collect_rows",
    "rate_bound",
    "rate_prices",
    "served_cost",
    "upper_bound_qps",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FluidRows:
    """Distinct queries: how many of each, what each path earns (correct predictions) and takes (ms)."""

    weight_R: Floats
    worth_RP: Floats
    service_ms_RP: Floats
    paths: PathArrays

    def within(self, sla_ms: float) -> "FluidRows":
        """The rows with paths that cannot hold the SLA closed (infinite service time)."""
        closed_RP = np.where(self.service_ms_RP <= sla_ms, self.service_ms_RP, np.inf)
        return FluidRows(weight_R=self.weight_R, worth_RP=self.worth_RP, service_ms_RP=closed_RP, paths=self.paths)

    def on_paths(self, used_U: NDArray[np.int64]) -> "FluidRows":
        """The rows with those paths and their devices alone."""
        devices, device_U = np.unique(self.paths.device_P[used_U], return_inverse=True)
        paths = self.paths._replace(
            service_ms_SP=self.paths.service_ms_SP[:, used_U],
            device_P=device_U.astype(np.int64),
            spread_P=self.paths.spread_P[used_U],
            accuracy_P=self.paths.accuracy_P[used_U],
            first_size_P=self.paths.first_size_P[used_U],
            last_size_P=self.paths.last_size_P[used_U],
            servers_D=self.paths.servers_D[devices],
            uncertain_D=self.paths.uncertain_D[devices],
        )
        return FluidRows(
            weight_R=self.weight_R,
            worth_RP=np.ascontiguousarray(self.worth_RP[:, used_U]),
            service_ms_RP=np.ascontiguousarray(self.service_ms_RP[:, used_U]),
            paths=paths,
        )


def collect_rows(chunk: Chunk, first: int, count: int, paths: PathArrays) -> FluidRows:
    """The rows of drawn queries first..count; equal sizes are one row where service has no spread."""
    size_R, factor_KN = chunk.size_N[first:count], chunk.factor_KN[:, first:count]
    weight_R = np.ones(len(size_R))
    if np.all(factor_KN == 1.0):
        size_R, counts_R = np.unique(size_R, return_counts=True)
        weight_R = counts_R.astype(np.float64)
        service_ms_RP = paths.service_ms_SP[size_R]
    else:
        service_ms_RP = paths.service_ms_SP[size_R] * factor_KN[paths.spread_P].T
    return FluidRows(
        weight_R=weight_R,
        worth_RP=np.outer(size_R.astype(np.float64), paths.accuracy_P),
        service_ms_RP=service_ms_RP,
        paths=paths,
    )


def bound_at(rows: FluidRows, prices_D: Floats, available_ms_D: Floats) -> tuple[float, Floats]:
    """The bound on correct predictions at these prices, and its subgradient: available minus used time."""
    used_ms_D = np.empty(len(prices_D))
    total = dual_gradient(rows.weight_R, rows.worth_RP, rows.service_ms_RP, rows.paths.device_P, prices_D, used_ms_D)
    return total + float(prices_D @ available_ms_D), available_ms_D - used_ms_D


def best_prices(rows: FluidRows, sla_ms: float, available_ms_D: Floats) -> Floats:
    """Prices of device time (correct predictions per ms) at which the bound is lowest."""
    open_rows = rows.within(sla_ms)
    highest_D = _highest_prices(open_rows)

    def cut_at(share_D: Floats) -> Cut:
        value, slope_D = bound_at(open_rows, share_D * highest_D, available_ms_D)
        return Cut(gradient_D=slope_D * highest_D, value=value)

    share_D, value = minimise_on_unit_box(cut_at, len(highest_D))
    # Free devices are the optimum at low load, a corner that the method only approaches.
    free_value, _ = bound_at(open_rows, np.zeros_like(highest_D), available_ms_D)
    return np.zeros_like(highest_D) if free_value <= value * (1 + 1e-6) else share_D * highest_D


def upper_bound_qps(rows: FluidRows, served_share: float = 1.0) -> float:
    """The highest rate at which the devices can serve these queries at all, whatever the SLA and the policy.

    With `served_share` below 1 the rest may be refused, the dearest of all.
    """
    return rate_bound(rows, rate_prices(rows), served_share)


def rate_prices(rows: FluidRows) -> Floats:
    """Prices of device time at which the bound on the rate is lowest; those of all servers sum to 1."""
    servers_D = rows.paths.servers_D.astype(np.float64)
    total = float(rows.weight_R.sum())
    used_ms_D = np.empty(len(servers_D))

    def cut_at(share_D: Floats) -> Cut:
        if share_D.sum() > 1:
            return Cut(gradient_D=np.ones_like(share_D), value=None)
        prices_D = share_D / servers_D
        cost = least_cost(rows.weight_R, rows.service_ms_RP, rows.paths.device_P, prices_D, used_ms_D)
        # The bound does not change when all prices are scaled, so each point is judged as if its shares summed to 1.
        return Cut(gradient_D=-used_ms_D / servers_D, value=-cost / total / max(float(share_D.sum()), 1e-300))

    share_D, _ = minimise_on_unit_box(cut_at, len(servers_D), tolerance=1e-7)
    prices_D: Floats = share_D / max(float(share_D.sum()), 1e-300) / servers_D
    return prices_D


def rate_bound(rows: FluidRows, prices_D: Floats, served_share: float = 1.0) -> float:
    """The bound on the rate (queries/s) at any prices of device time."""
    cost = served_cost(rows, prices_D, served_share)
    return MS_PER_S * float(prices_D @ rows.paths.servers_D) / cost


def served_cost(rows: FluidRows, prices_D: Floats, served_share: float = 1.0) -> float:
    """What the cheapest `served_share` of the queries cost at these prices, per query that comes."""
    cost_R = (rows.service_ms_RP * prices_D[rows.paths.device_P]).min(axis=1)
    total = float(rows.weight_R.sum())
    order_R = np.argsort(cost_R)
    weight_R = rows.weight_R[order_R]
    before_R = np.cumsum(weight_R) - weight_R
    kept_R = np.clip(served_share * total - before_R, 0.0, weight_R)
    return float(kept_R @ cost_R[order_R]) / total


def _highest_prices(rows: FluidRows) -> Floats:
    """Per device, the price above which no row would pay; 1 where no row can go."""
    worth_per_ms_P = (rows.worth_RP / rows.service_ms_RP).max(axis=0, initial=0.0)
    highest_D = np.zeros(len(rows.paths.servers_D))
    np.maximum.at(highest_D, rows.paths.device_P, worth_per_ms_P)
    return np.where(highest_D > 0, highest_D, 1.0)
