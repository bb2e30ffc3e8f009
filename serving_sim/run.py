"""One run of the event kernel: a compiled plan, its queues and totals. The engine and the capacity search drive it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profiles.errors import InputError
from profiles.units import MS_PER_S
from serving_sim.kernels import (
    BINS,
    FIXED,
    MOST_WAITING,
    PRICED,
    SIZE_CLASSES,
    Chunk,
    Floats,
    Market,
    PathArrays,
    Queues,
    Rule,
    Steps,
    Totals,
    Waiting,
    account_chunk,
    compile_steps,
    new_market,
    serve_chunk,
    serve_fixed,
    serve_pair,
    serve_priced,
    serve_steps,
)

__all__ = ["Run", "start_run"]

# Places in `Totals.counts_CF` and `Totals.sums_CF`.
_FIGURES = 8


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Run:
    """State of a run under way; `serve` advances it. Nothing is shared with any other run but the read-only paths.

    `steps` is the rule worked out by size, where it can be; `market` what a rule by prices has learned.
    """

    paths: PathArrays
    rule: Rule
    steps: Steps | None
    market: Market | None
    queues: Queues
    waiting: Waiting
    totals: Totals
    gap_ms: float
    sla_ms_C: Floats
    warmup: int

    @property
    def sla_ms(self) -> float:
        """That of the class with the loosest."""
        return float(self.sla_ms_C.max())

    def serve(self, chunk: Chunk, count: int) -> None:
        """Serve the next `count` queries, which the chunk holds drawn."""
        rule, steps, servers_D = self.rule, self.steps, self.paths.servers_D
        if rule.kind == FIXED and not self.paths.conditions_PF.size:
            serve_fixed(chunk, count, self.gap_ms, int(rule.path_E[0]), self.paths, self.queues)
        elif self.market is not None:
            serve_priced(chunk, count, self.gap_ms, rule, self.paths, self.queues, self.waiting, self.market)
        elif steps is None:
            serve_chunk(chunk, count, self.gap_ms, rule, self.paths, self.queues, self.waiting)
        elif len(servers_D) <= 2 and servers_D.max() == 1:
            serve_pair(chunk, count, self.gap_ms, rule.path_E, steps, self.queues)
        else:
            serve_steps(chunk, count, self.gap_ms, rule.path_E, steps, servers_D, self.queues)
        account_chunk(chunk, count, self.warmup, self.sla_ms_C, self.paths, self.queues.busy_ms_D, self.totals)


def start_run(
    paths: PathArrays, rule: Rule, *, qps: float, sla_ms: float | Sequence[float], warmup: int = 0, exact: int = 0
) -> Run:
    """A run at time 0 with idle devices; the first `warmup` queries are served but not counted.

    `sla_ms` is that of all queries or of each class; a rule that knows no classes treats them alike. `exact` latencies
    are kept as they are, beside the histogram.
    """
    devices, servers = len(paths.servers_D), int(paths.servers_D.max())
    sla_ms_C = np.atleast_1d(np.array(sla_ms, dtype=np.float64))
    classes = len(sla_ms_C)
    if len(rule.limit_ms_CE) not in (1, classes):
        raise InputError(f"policy: its rule must have limits for {classes} classes, but has {len(rule.limit_ms_CE)}")
    if rule.kind == PRICED and paths.conditions_PF.size:
        raise InputError(
            "policy: one that prices device time follows neither idle_gap nor correlation of a path's latency; "
            "choose another, or leave these out"
        )
    limit_ms_CE = np.ascontiguousarray(np.broadcast_to(rule.limit_ms_CE, (classes, len(rule.path_E))))
    rule = rule._replace(limit_ms_CE=limit_ms_CE)
    queues = Queues(
        free_ms_DC=np.zeros((devices, servers)),
        next_ms_D=np.zeros(devices),
        next_server_D=np.zeros(devices, dtype=np.int64),
        busy_ms_D=np.zeros(devices),
        clock_ms=np.zeros(1),
        residual_D=np.full(devices, np.nan),
    )
    totals = Totals(
        counts_CF=np.zeros((classes, _FIGURES), dtype=np.int64),
        sums_CF=np.zeros((classes, _FIGURES)),
        by_class_PC=np.zeros((len(paths.device_P), SIZE_CLASSES), dtype=np.int64),
        queries_CS=np.zeros((classes, len(paths.service_ms_SP)), dtype=np.int64),
        histogram_CB=np.zeros((classes, BINS), dtype=np.int64),
        exact_ms=np.empty(exact),
    )
    return Run(
        paths=paths,
        rule=rule,
        steps=compile_steps(rule, paths),
        market=new_market(paths, limit_ms_CE[:, 0]) if rule.kind == PRICED else None,
        queues=queues,
        waiting=_nothing_waiting(devices, servers),
        totals=totals,
        gap_ms=MS_PER_S / qps,
        sla_ms_C=sla_ms_C,
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
