"""One run of the event kernel: a compiled plan, its queues and totals. The engine and the capacity search drive it."""

from dataclasses import dataclass

import numpy as np

from profiles.units import MS_PER_S
from serving_sim.kernels import (
    BINS,
    MOST_WAITING,
    SIZE_CLASSES,
    Chunk,
    PathArrays,
    Queues,
    Rule,
    Totals,
    Waiting,
    account_chunk,
    serve_chunk,
)

__all__ = ["Run", "start_run"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Run:
    """State of a run under way; `serve` advances it. Nothing is shared with any other run but the read-only paths."""

    paths: PathArrays
    rule: Rule
    queues: Queues
    waiting: Waiting
    totals: Totals
    gap_ms: float
    sla_ms: float
    warmup: int

    def serve(self, chunk: Chunk, count: int) -> None:
        """Serve the next `count` queries, which the chunk holds drawn."""
        serve_chunk(chunk, count, self.gap_ms, self.rule, self.paths, self.queues, self.waiting)
        account_chunk(chunk, count, self.warmup, self.sla_ms, self.paths, self.totals)


def start_run(paths: PathArrays, rule: Rule, *, qps: float, sla_ms: float, warmup: int = 0, exact: int = 0) -> Run:
    """A run at time 0 with idle devices; the first `warmup` queries are served but not counted.

    `exact` latencies are kept as they are, beside the histogram.
    """
    devices, servers = len(paths.servers_D), int(paths.servers_D.max())
    queues = Queues(
        free_ms_DC=np.zeros((devices, servers)),
        next_ms_D=np.zeros(devices),
        next_server_D=np.zeros(devices, dtype=np.int64),
        busy_ms_D=np.zeros(devices),
        clock_ms=np.zeros(1),
    )
    totals = Totals(
        counts=np.zeros(8, dtype=np.int64),
        sums=np.zeros(8),
        by_class_PC=np.zeros((len(paths.device_P), SIZE_CLASSES), dtype=np.int64),
        histogram_B=np.zeros(BINS, dtype=np.int64),
        exact_ms=np.empty(exact),
    )
    return Run(
        paths=paths,
        rule=rule,
        queues=queues,
        waiting=_nothing_waiting(devices, servers),
        totals=totals,
        gap_ms=MS_PER_S / qps,
        sla_ms=sla_ms,
        warmup=warmup,
    )


def _nothing_waiting(devices: int, servers: int) -> Waiting:
    return Waiting(
        first_D=np.zeros(devices, dtype=np.int64),
        count_D=np.zeros(devices, dtype=np.int64),
        work_ms_D=np.zeros(devices),
        start_ms_DW=np.empty((devices, MOST_WAITING)),
        mean_ms_DW=np.empty((devices, MOST_WAITING)),
        server_DW=np.empty((devices, MOST_WAITING), dtype=np.int64),
        under_way_start_ms_DC=np.zeros((devices, servers)),
        under_way_mean_ms_DC=np.zeros((devices, servers)),
    )
