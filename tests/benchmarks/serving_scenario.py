"""The plan that simulators are timed on: table, DHE and hybrid on each of two devices. Its latencies are invented."""

from dataclasses import dataclass, replace

from profiles.units import MS_PER_S
from serving_sim.engine import trace_run
from serving_sim.kernels import Chunk, PathArrays, Rule
from serving_sim.paths import Spread, compile_paths
from serving_sim.plan import Device, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.policies import as_policy, routing_context
from serving_sim.workload import WorkloadStream, empty_chunk

__all__ = ["POLICIES", "Drawn", "draw", "six_path_plan", "traced_latencies"]

POLICIES = ("mp-rec", "table-switch")
_SIZES = (1, 128, 4096)
_MEAN_MS = {
    ("cpu", "table"): (0.1, 0.5, 12.0),
    ("cpu", "dhe"): (0.5, 2.5, 60.0),
    ("cpu", "hybrid"): (0.6, 3.0, 72.0),
    ("gpu", "table"): (0.15, 0.25, 2.5),
    ("gpu", "dhe"): (0.4, 0.6, 5.0),
    ("gpu", "hybrid"): (0.45, 0.7, 6.0),
}
_ACCURACY = {"table": 0.7879, "dhe": 0.7889, "hybrid": 0.7898}


def six_path_plan(policy: str, queries: int, *, sigma: float = 0.0) -> Plan:
    """1,000 queries a second, lognormal sizes of mean 128, 10 ms. `sigma` scatters service times about their means."""
    paths = tuple(
        Path(
            name=f"{representation}-{device}",
            representation=representation,
            device=device,
            accuracy=_ACCURACY[representation],
            latency=LatencyTable(
                sizes=_SIZES, mean_ms=mean_ms, spread="lognormal" if sigma > 0 else "none", sigma=sigma
            ),
        )
        for (device, representation), mean_ms in _MEAN_MS.items()
    )
    return Plan(
        name="six-paths",
        devices=(Device(name="cpu"), Device(name="gpu")),
        paths=paths,
        workload=Workload(qps=1000.0, sla_ms=10.0, queries=queries, sizes=Sizes(mean=128.0, sigma=1.0, maximum=4096)),
        policy=PolicyChoice(name=policy),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Drawn:
    """A plan compiled, and its queries drawn as one chunk."""

    plan: Plan
    paths: PathArrays
    rule: Rule
    chunk: Chunk
    gap_ms: float


def draw(plan: Plan) -> Drawn:
    """Everything that a loop over the plan's queries needs."""
    tables = compile_paths(plan)
    spreads: tuple[Spread, ...] = tables.spreads
    chunk = empty_chunk(plan.workload.queries, len(spreads))
    WorkloadStream(plan.workload, spreads, plan.seed).fill(chunk, plan.workload.queries)
    return Drawn(
        plan=plan,
        paths=tables.arrays,
        rule=as_policy(plan.policy).compile(routing_context(plan)),
        chunk=chunk,
        gap_ms=MS_PER_S / plan.workload.qps,
    )


def traced_latencies(drawn: Drawn, queries: int) -> list[float]:
    """The latencies (ms) of the first queries, by the simulator itself."""
    load = replace(drawn.plan.workload, queries=queries)
    latencies: list[float] = trace_run(replace(drawn.plan, workload=load)).latency_ms_N.tolist()
    return latencies
