"""Calibrate a plan from queries that were served: latency tables, what sending costs, and how service times scatter.

Shape suffixes: N queries, D devices.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving_sim.paths import service_ms
from serving_sim.plan import LatencyTable, Path, Plan
from serving_sim.replay.live import LiveTrace
from serving_sim.replay.observed import DeviceTimes, device_times
from serving_sim.replay.service_fit import FEWEST, ServiceFit, fit_service

__all__ = ["Calibration", "calibrate"]

Floats = NDArray[np.float64]
_MOST_CORRELATED = 0.99


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Calibration:
    """The plan with latency tables as observed (handover included), and per device in the plan's order:

    `dispatch_ms_D`, by which every query of a busy period is late, and `residual_D`, observed over fitted service time
    of the queries in their order, without what idleness added.
    """

    plan: Plan
    dispatch_ms_D: tuple[float, ...]
    handover_ms_D: tuple[float, ...]
    residual_D: tuple[Floats, ...]
    notes: tuple[str, ...] = ()

    def to_object(self) -> dict[str, Any]:
        """The JSON form, but for the residuals themselves."""
        return {
            "devices": [
                {"name": device.name, "dispatch_ms": dispatch_ms, "handover_ms": handover_ms}
                for device, dispatch_ms, handover_ms in zip(
                    self.plan.devices, self.dispatch_ms_D, self.handover_ms_D, strict=True
                )
            ],
            "paths": [_path_object(path) for path in self.plan.paths],
            "notes": list(self.notes),
        }


def calibrate(plan: Plan, trace: LiveTrace, is_used_N: NDArray[np.bool_]) -> Calibration:
    """From the queries of the trace for which `is_used_N` is true.

    A path with fewer than 50 of them keeps the shape of its table in the plan, at the level of what was served there.
    """
    tables: dict[str, LatencyTable] = {}
    residual_D, times_D, notes = [], [], []
    for device in range(len(plan.devices)):
        times = _used(device_times(plan, trace, device), is_used_N)
        fits, level, residual_N = _fit_device(plan, trace, times)
        fresh, remarks = _device_tables(plan, device, times.handover_ms, fits, level, _spread(residual_N))
        tables |= fresh
        notes += remarks
        residual_D.append(residual_N)
        times_D.append(times)
    paths = tuple(replace(path, latency=tables[path.name], host_ms=0.0) for path in plan.paths)
    return Calibration(
        plan=replace(plan, paths=paths),
        dispatch_ms_D=tuple(times.dispatch_ms for times in times_D),
        handover_ms_D=tuple(times.handover_ms for times in times_D),
        residual_D=tuple(residual_D),
        notes=tuple(notes),
    )


def _used(times: DeviceTimes, is_used_N: NDArray[np.bool_]) -> DeviceTimes:
    keep = is_used_N[times.query_N]
    return DeviceTimes(
        query_N=times.query_N[keep],
        found_idle_N=times.found_idle_N[keep],
        waited_N=times.waited_N[keep],
        idle_ms_N=times.idle_ms_N[keep],
        delay_ms_N=times.delay_ms_N[keep],
        return_ms_N=times.return_ms_N[keep],
    )


def _fit_device(plan: Plan, trace: LiveTrace, times: DeviceTimes) -> tuple[dict[int, ServiceFit], float, Floats]:
    """Fits of the paths with enough queries, how much slower than the plan's tables the device was, all residuals."""
    fits: dict[int, ServiceFit] = {}
    path_N, size_N = trace.path_N[times.query_N], trace.queries.size_N[times.query_N]
    service_ms_N = trace.service_ms_N[times.query_N]
    residual_N = np.ones(len(path_N))
    for path in np.unique(path_N).tolist():
        own = path_N == path
        residual_N[own] = service_ms_N[own] / _tabled_ms(plan.paths[path], size_N[own])
    level = float(np.mean(residual_N)) if len(residual_N) else 1.0
    residual_N /= level
    for path in np.unique(path_N).tolist():
        own = path_N == path
        if own.sum() >= FEWEST:
            fits[path] = fit_service(size_N[own], service_ms_N[own], times.idle_ms_N[own])
            residual_N[own] = fits[path].residual_N
    return fits, level, residual_N


def _tabled_ms(path: Path, size_N: NDArray[np.int64]) -> Floats:
    return path.host_ms + service_ms(path.latency, size_N)


def _device_tables(
    plan: Plan, device: int, handover_ms: float, fits: Mapping[int, ServiceFit], level: float, spread: Mapping[str, Any]
) -> tuple[dict[str, LatencyTable], list[str]]:
    tables, notes = {}, []
    for place, path in enumerate(plan.paths):
        if plan.device_of(path) != device:
            continue
        if (fit := fits.get(place)) is not None:
            mean_ms = tuple(value + handover_ms for value in fit.mean_ms)
            tables[path.name] = LatencyTable(sizes=fit.sizes, mean_ms=mean_ms, idle_gap=fit.idle_gap, **spread)
            continue
        mean_ms = tuple(level * (path.host_ms + value) + handover_ms for value in path.latency.mean_ms)
        tables[path.name] = LatencyTable(sizes=path.latency.sizes, mean_ms=mean_ms, **spread)
        notes.append(f"{path.name}: too few queries to fit; its table in the plan times {level:.3g}")
    return tables, notes


def _spread(residual_N: Floats) -> dict[str, Any]:
    """Spread, sigma and lag-1 correlation of a device's residuals, as a latency table has them."""
    logs = np.log(residual_N)
    if len(logs) < 3 or logs.std() == 0:
        return {}
    correlation = float(np.corrcoef(logs[1:], logs[:-1])[0, 1]) if min(logs[1:].std(), logs[:-1].std()) > 0 else 0.0
    return {
        "spread": "lognormal",
        "sigma": float(logs.std()),
        "correlation": float(np.clip(correlation, 0.0, _MOST_CORRELATED)),
    }


def _path_object(path: Path) -> dict[str, Any]:
    table = path.latency
    gap = table.idle_gap
    return {
        "name": path.name,
        "sizes": list(table.sizes),
        "mean_ms": list(table.mean_ms),
        "sigma": table.sigma,
        "correlation": table.correlation,
        "idle_gap": None if gap is None else asdict(gap),
    }
