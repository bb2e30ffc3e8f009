"""Small plans of real models, and traces whose every time is known."""

import numpy as np
from numpy.typing import NDArray

from profiles.hardware import LOCAL_CPU
from representations.specs import DheSpec, EmbeddingSpec, Feature, ModelSpec, TableSpec
from serving_sim.plan import Device, LatencyTable, Path, Plan, PolicyChoice, Sizes, Workload
from serving_sim.replay.live import LiveTrace
from serving_sim.replay.queries import Queries, draw_queries


def spec(embedding: EmbeddingSpec, pooling: float = 1.0) -> ModelSpec:
    return ModelSpec(
        name=f"{embedding.kind}-model",
        dense_features=2,
        features=tuple(Feature(name=name, cardinality=50, pooling=pooling) for name in ("a", "b")),
        embeddings=(embedding, embedding),
        bottom_mlp=(4,),
        top_mlp=(1,),
        interaction="concat",
    )


MODELS = {"table": spec(TableSpec(dim=4)), "dhe": spec(DheSpec(dim=4, k=8, widths=(6,)))}


def real_plan(*, qps: float = 200.0, policy: str = "mp-rec", servers: int = 1) -> Plan:
    """A table and a DHE on this machine's processor, and the table on a GPU that is not here."""
    table = LatencyTable(sizes=(1, 64), mean_ms=(0.3, 0.5))
    slow = LatencyTable(sizes=(1, 64), mean_ms=(0.9, 1.5))
    paths = tuple(
        Path(name=f"{kind}@cpu", representation=kind, device="cpu", accuracy=accuracy, latency=latency,
             model=MODELS[kind].to_object())
        for kind, accuracy, latency in (("table", 0.78, table), ("dhe", 0.79, slow))
    )  # fmt: skip
    absent = Path(name="table@gpu", representation="table", device="gpu", accuracy=0.78, latency=table,
                  model=MODELS["table"].to_object())  # fmt: skip
    return Plan(
        name="real",
        devices=(Device(name="cpu", kind=LOCAL_CPU, servers=servers), Device(name="gpu", kind="v100")),
        paths=(*paths, absent),
        workload=Workload(qps=qps, sla_ms=10, queries=300, sizes=Sizes(mean=16, sigma=0.8, maximum=64)),
        policy=PolicyChoice(name=policy),
    )


def one_path_plan(*, qps: float = 500.0, servers: int = 1) -> Plan:
    table = LatencyTable(sizes=(1, 64), mean_ms=(0.5, 2.0))
    path = Path(name="p", representation="table", device="d", accuracy=0.8, latency=table)
    return Plan(
        name="one",
        devices=(Device(name="d", servers=servers),),
        paths=(path,),
        workload=Workload(qps=qps, sla_ms=10, queries=3000, sizes=Sizes(mean=16, sigma=0.8, maximum=64)),
        policy=PolicyChoice(name="static"),
    )


def served(
    plan: Plan, service_ms_N: NDArray[np.float64], *, dispatch_ms: float = 0.0, queries: Queries | None = None
) -> LiveTrace:
    """First come first served, by the heap-free textbook recursion; each busy period begins `dispatch_ms` late."""
    queries = queries or draw_queries(plan, len(service_ms_N))
    free_ms = np.zeros(plan.devices[0].servers)
    start_ms_N = np.empty(len(service_ms_N))
    for query, arrival_ms in enumerate(queries.arrival_ms_N):
        server = int(free_ms.argmin())
        start_ms_N[query] = max(arrival_ms + dispatch_ms, free_ms[server])
        free_ms[server] = start_ms_N[query] + service_ms_N[query]
    return LiveTrace(
        queries=queries,
        path_N=np.zeros(len(service_ms_N), dtype=np.int64),
        sent_ms_N=queries.arrival_ms_N.copy(),
        start_ms_N=start_ms_N,
        finish_ms_N=start_ms_N + service_ms_N,
    )
