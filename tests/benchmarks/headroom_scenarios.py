"""Hardware and loads under which `headroom` is held against `mp-rec`. All latency tables are invented."""

from dataclasses import dataclass, replace

import numpy as np

from profiles.units import MS_PER_S
from serving_sim.fluid_bound import FluidRows, best_prices, bound_at, collect_rows, upper_bound_qps
from serving_sim.kernels import REFUSAL, Chunk, Floats, PathArrays
from serving_sim.paths import compile_paths
from serving_sim.plan import Arrivals, Device, Diurnal, LatencyTable, Path, Plan, Sizes, Workload
from serving_sim.policies import Policy, routing_context
from serving_sim.run import start_run
from serving_sim.window_bound import window_bound
from serving_sim.workload import WorkloadStream, empty_chunk

__all__ = ["CONDITIONS", "HARDWARE", "Load", "Outcome", "draw_load"]

CONDITIONS = ("steady", "rate not known", "diurnal", "bursts", "tables 10 % off")
_TABLE, _DHE, _HYBRID = 0.7879, 0.7889, 0.7898
_CPU = {"table": (0.1, 0.5, 12.0), "dhe": (0.5, 2.5, 60.0), "hybrid": (0.6, 3.0, 72.0)}
_GPU = {"table": (0.15, 0.25, 2.5), "dhe": (0.4, 0.6, 5.0), "hybrid": (0.45, 0.7, 6.0)}
_ACCELERATOR = {"dhe": (0.3, 0.35, 2.2), "hybrid": (0.8, 1.6, 14.0)}
_ACCURACY = {
    "table": _TABLE,
    "dhe": _DHE,
    "hybrid": _HYBRID,
    "dhe small": 0.7870,
    "dhe medium": 0.7882,
    "dhe large": _DHE,
}
_SMALL = {"dhe small": (0.2, 1.0, 26.0), "dhe medium": (0.5, 2.5, 60.0)}
_SMALL_GPU = {"dhe small": (0.25, 0.4, 4.0), "dhe medium": (0.4, 0.6, 5.0), "dhe large": (0.6, 1.1, 12.0)}


def _plan(name: str, servers: dict[str, int], tables: dict[str, dict[str, tuple[float, float, float]]]) -> Plan:
    paths = tuple(
        Path(
            name=f"{kind} on {device}",
            representation=kind.split()[0],
            device=device,
            accuracy=_ACCURACY[kind],
            latency=LatencyTable(sizes=(1, 128, 4096), mean_ms=mean_ms),
        )
        for device, shapes in tables.items()
        for kind, mean_ms in shapes.items()
    )
    devices = tuple(Device(name=device, servers=count) for device, count in servers.items())
    load = Workload(qps=1000.0, sla_ms=10.0, sizes=Sizes(mean=128.0, sigma=1.0, maximum=4096))
    return Plan(name=name, devices=devices, paths=paths, workload=load)


HARDWARE = {
    "CPU + GPU": _plan("cpu-gpu", {"cpu": 1, "gpu": 1}, {"cpu": _CPU, "gpu": _GPU}),
    "2 CPUs + GPU + accelerator": _plan(
        "accelerator", {"cpu": 2, "gpu": 1, "acc": 1}, {"cpu": _CPU, "gpu": _GPU, "acc": _ACCELERATOR}
    ),
    "little memory: DHE on CPU + GPU": _plan("dhe-only", {"cpu": 1, "gpu": 1}, {"cpu": _SMALL, "gpu": _SMALL_GPU}),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Per second of the counted arrivals: correct predictions in the SLA; shares of queries refused and violated."""

    correct_per_s: float
    refused: float
    violated: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Load:
    """Queries of one condition drawn for a plan, to be served at any rate by any policy."""

    plan: Plan
    condition: str
    chunk: Chunk
    paths: PathArrays
    skip: int

    @property
    def capacity_qps(self) -> float:
        """The highest mean rate that the fluid program serves in full, of queries that can hold the SLA at all."""
        rows = collect_rows(self.chunk, 0, len(self.chunk.size_N), self.paths).within(self.plan.workload.sla_ms)
        kept = np.isfinite(rows.service_ms_RP).any(axis=1)
        served = FluidRows(
            weight_R=rows.weight_R[kept],
            worth_RP=rows.worth_RP[kept],
            service_ms_RP=rows.service_ms_RP[kept],
            paths=self.paths,
        )
        return upper_bound_qps(served) * float(rows.weight_R.sum() / served.weight_R.sum())

    def serve(self, policy: Policy, qps: float) -> Outcome:
        """The policy at that mean rate; where the rate is not known, the plan says half of it."""
        told_qps = qps / 2 if self.condition == "rate not known" else qps
        sla_ms = self.plan.workload.sla_ms
        rule = policy.compile(routing_context(self.plan.at(qps=told_qps)))
        run = start_run(self.paths, rule, qps=qps, sla_ms=sla_ms)
        run.serve(self.chunk, len(self.chunk.size_N))
        counted = slice(self.skip, None)
        path_N, size_N = self.chunk.path_N[counted], self.chunk.size_N[counted]
        latency_ms_N = (self.chunk.start_ms_N - self.chunk.arrival_ms_N + self.chunk.service_ms_N)[counted]
        good_N = (path_N != REFUSAL) & (latency_ms_N <= sla_ms)
        correct = float((self.paths.accuracy_P[path_N] * size_N)[good_N].sum())
        refused, violated = float(np.mean(path_N == REFUSAL)), float(1 - good_N.mean())
        return Outcome(correct_per_s=correct / self._span_s(qps), refused=refused, violated=violated)

    def bound_per_s(self, qps: float, steps: int) -> float:
        """Correct predictions in the SLA per second that no policy beats; with windows of time where load drifts."""
        sla_ms, span_ms = self.plan.workload.sla_ms, self._span_s(qps) * MS_PER_S
        rows = collect_rows(self.chunk, self.skip, len(self.chunk.size_N), self.paths)
        available_ms_D: Floats = (span_ms + sla_ms) * self.paths.servers_D.astype(np.float64)
        best, _ = bound_at(rows.within(sla_ms), best_prices(rows, sla_ms, available_ms_D), available_ms_D)
        if self.condition in ("diurnal", "bursts"):
            np.cumsum(self.chunk.gap_N * (MS_PER_S / qps), out=self.chunk.arrival_ms_N)
            best = min(best, window_bound(self.chunk, self.skip, self.paths, np.array([sla_ms]), steps=steps))
        return best / self._span_s(qps)

    def _span_s(self, qps: float) -> float:
        return float(self.chunk.gap_N[self.skip + 1 :].sum()) / qps


def draw_load(plan: Plan, condition: str, queries: int, seed: int = 0) -> Load:
    """The queries of a condition; the first hundredth warms up."""
    arrivals = {
        "diurnal": Arrivals(diurnal=Diurnal(amplitude=0.5, period_s=queries / 2 / plan.workload.qps)),
        "bursts": Arrivals(process="trace", source="azure-code"),
    }.get(condition, Arrivals())
    tables, count = compile_paths(plan), len(plan.paths)
    chunk = empty_chunk(queries, count)
    drawn = chunk._replace(factor_KN=chunk.factor_KN[:1])
    WorkloadStream(replace(plan.workload, queries=queries, arrivals=arrivals), tables.spreads, seed).fill(
        drawn, queries
    )
    chunk.factor_KN[:] = _factors(condition, count, seed)[:, None]
    off = condition == CONDITIONS[-1]
    paths = tables.arrays._replace(
        spread_P=np.arange(count), uncertain_D=np.full_like(tables.arrays.uncertain_D, int(off))
    )
    return Load(plan=plan, condition=condition, chunk=chunk, paths=paths, skip=queries // 100)


def _factors(condition: str, paths: int, seed: int) -> Floats:
    """Service times over those of the tables that routers read: half of the paths are slower, half faster."""
    if condition != CONDITIONS[-1]:
        return np.ones(paths)
    return np.random.default_rng(seed).permutation(np.resize([0.9, 1.1], paths))
