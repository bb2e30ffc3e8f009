"""One run: a compiled plan, its queues and totals, served by the fastest loop that can. Others drive it."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from profiles.errors import InputError
from profiles.units import MS_PER_S
from serving_sim.events import Events, batching_of
from serving_sim.kernels import (
    ARRIVED,
    BINS,
    FIXED,
    LAST_FINISH_MS,
    MOST_WAITING,
    PRICED,
    SIZE_CLASSES,
    SPLIT,
    Chunk,
    Floats,
    Ints,
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
    note_mix,
    renew_prices,
    serve_chunk,
    serve_fixed,
    serve_pair,
    serve_priced,
    serve_steps,
    until_renewal,
)
from serving_sim.kernels.market import LOST

__all__ = ["Run", "start_run"]

# Places in `Totals.counts_CF` and `Totals.sums_CF`.
_FIGURES = 8


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Run:
    """State of a run under way; `serve` advances it. Nothing is shared with any other run but the read-only paths.

    `steps` is the rule worked out by size, where it can be; `market` what a rule by prices has learned; `events` the
    general loop, where the run needs it.
    """

    paths: PathArrays
    rule: Rule
    steps: Steps | None
    market: Market | None
    events: Events | None
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

    @property
    def samples_PC(self) -> Ints | None:  # noqa: N802 (a shape suffix)
        """Counted samples by path and size class (of the query), where queries are split over paths; else none."""
        if self.events is None or self.rule.kind != SPLIT:
            return None
        return self.events.state.samples_XC[: len(self.paths.device_P)]

    @property
    def overflow(self) -> int:
        """Queries refused for want of a place in the system."""
        return 0 if self.events is None else int(self.events.state.loop_1["overflow"][0])

    def serve(self, chunk: Chunk, count: int) -> tuple[Chunk, int]:
        """Serve the next `count` queries, which the chunk holds drawn.

        Returns the chunk that holds those that are done now, in the order of arrival, and how many: all of them, but
        for the general loop, where a query is done only once those before it are.
        """
        if self.events is not None:
            return self._serve_events(chunk, count, self.gap_ms)
        rule, steps, servers_D = self.rule, self.steps, self.paths.servers_D
        if rule.kind == FIXED and not self.paths.conditions_PF.size:
            serve_fixed(chunk, count, self.gap_ms, int(rule.path_E[0]), self.paths, self.queues)
        elif self.market is not None:
            serve_priced(chunk, count, self.gap_ms, rule, self.paths, self.queues, self.waiting, self.market)
        elif steps is None:
            serve_chunk(chunk, count, self.gap_ms, rule, self.paths, self.queues, self.waiting)
        elif steps.margin_ms.size and servers_D.max() == 1:
            serve_pair(chunk, count, self.gap_ms, steps, self.queues)
        else:
            serve_steps(chunk, count, self.gap_ms, steps, servers_D, self.queues)
        account_chunk(chunk, count, self.warmup, self.sla_ms_C, self.paths, self.queues.busy_ms_D, self.totals)
        return chunk, count

    def finish(self) -> tuple[Chunk, int] | None:
        """Let the queries in the system come to their end, with none to follow; none where all are done already."""
        if self.events is None or self.events.done is None:
            return None
        return self._serve_events(self.events.done, 0, np.inf)

    def copy(self) -> "Run":
        """A run that goes on from here by itself."""
        queues, totals, events = deepcopy((self.queues, self.totals, self.events))
        market, waiting = deepcopy((self.market, self.waiting))
        return replace(self, queues=queues, totals=totals, events=events, market=market, waiting=waiting)

    def _serve_events(self, chunk: Chunk, count: int, gap_ms: float) -> tuple[Chunk, int]:
        events = self.events
        if events is None:
            return chunk, 0
        from serving_sim.kernels.events import serve_events

        room, loop, first, done = events.room_for(chunk, count), events.state.loop_1[0], 0, 0
        skip = max(0, self.warmup - int(self.totals.counts_CF[0, ARRIVED]))
        for end in self._pieces(chunk, count, gap_ms):
            part = (first, end, done, skip)
            done = serve_events(chunk, part, gap_ms, self.rule, events.plan, events.state, room)
            first = end
        # The loop keeps time itself, and counts the time that servers were busy, lost services too.
        self.queues.busy_ms_D[:], self.queues.clock_ms[:] = events.state.queues_D["busy_ms"], loop["now_ms"]
        unused_D = np.zeros(len(self.paths.servers_D))
        account_chunk(room, done, self.warmup, self.sla_ms_C, self.paths, unused_D, self.totals)
        # Servers were busy with queries that were given up too.
        last_ms = self.totals.sums_CF[0, LAST_FINISH_MS]
        self.totals.sums_CF[0, LAST_FINISH_MS] = max(last_ms, loop["given_up_ms"])
        return room, done

    def _pieces(self, chunk: Chunk, count: int, gap_ms: float) -> Iterator[int]:
        """Where the chunk's queries are cut, so that prices are renewed in between where a rule goes by them."""
        market, events = self.market, self.events
        if market is None or events is None or gap_ms == np.inf:
            yield count
            return
        queues_D, learned_X, mixed = events.state.queues_D, events.state.learned_X, 0
        while (due := mixed + until_renewal(market)) <= count:
            # Those before it go by the prices as they are; the query with which new ones are due has the new ones.
            yield due - 1
            note_mix(chunk, mixed, due, gap_ms, market)
            # A path whose device is known to be down takes forever.
            known_D, device_P = queues_D["known"], self.paths.device_P
            market.ratio_P[:] = np.where(known_D[device_P] > 0, learned_X["ratio"][: len(device_P)], np.inf)
            market.figures_G[LOST] = events.state.loop_1["lost"][0]
            renew_prices(self.rule, self.paths._replace(servers_D=np.maximum(known_D, 1)), market)
            queues_D["price"], queues_D["crowded"] = market.price_D, market.crowded_D
            for known, learned in zip(events.state.room, market.room, strict=True):
                known[:] = learned
            mixed = due
        note_mix(chunk, mixed, count, gap_ms, market)
        yield count


def start_run(
    paths: PathArrays,
    rule: Rule,
    *,
    qps: float,
    sla_ms: float | Sequence[float],
    warmup: int = 0,
    exact: int = 0,
    sections: int = 0,
    section_queries: int = 1,
    events: Events | None = None,
) -> Run:
    """A run at time 0 with idle devices; the first `warmup` queries are served but not counted.

    `sla_ms` is that of all queries or of each class; a rule that knows no classes treats them alike. `exact` latencies
    are kept as they are, beside the histogram, which is kept apart for so many sections of `section_queries` counted
    queries. `events` is the general loop at time 0, where plan or rule need it.

    Raises:
        InputError: limits for other classes than there are, or a rule that needs `events`.
    """
    devices, servers = len(paths.servers_D), int(paths.servers_D.max())
    sla_ms_C = np.atleast_1d(np.array(sla_ms, dtype=np.float64))
    classes = len(sla_ms_C)
    if len(rule.limit_ms_CE) not in (1, classes):
        raise InputError(f"policy: its rule must have limits for {classes} classes, but has {len(rule.limit_ms_CE)}")
    if events is None and (rule.kind == SPLIT or batching_of(rule)[0]):
        raise InputError("policy: joins or splits queries, which a run without events does not")
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
        histogram_CKB=np.zeros((classes, sections + 1, BINS), dtype=np.int64),
        sections_CKF=np.zeros((classes, sections + 1, 2), dtype=np.int64),
        section_queries=section_queries,
        exact_ms=np.empty(exact),
    )
    market = new_market(paths, limit_ms_CE[:, 0]) if rule.kind == PRICED else None
    if market is not None and events is not None:
        queues_D = events.state.queues_D
        queues_D["price"], queues_D["crowded"] = market.price_D, market.crowded_D
        events.state = events.state._replace(room=deepcopy(market.room))
    return Run(
        paths=paths,
        rule=rule,
        steps=compile_steps(rule, paths),
        market=market,
        events=events,
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
