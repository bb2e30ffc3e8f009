"""What a reader of a result should know beside its figures."""

import numpy as np
from numpy.typing import NDArray

from profiles.units import format_items, format_ms
from serving_sim import kernels
from serving_sim.class_metrics import holds_sla
from serving_sim.histogram import rank
from serving_sim.ids import hit_rate
from serving_sim.plan import Plan
from serving_sim.run import Run
from serving_sim.verdict import Verdict, undrained_ms

__all__ = ["result_notes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A start that differs from the rest of the run is worth a note from this share of it on.
_LONG_START = 0.1


def result_notes(plan: Plan, run: Run, counted: int, settling_share: float, verdict: Verdict) -> tuple[str, ...]:
    """All notes, the one on the SLA last."""
    notes = [*_unmeetable_slas(plan, run), *_hit_rates(plan)]
    if run.rule.kind == kernels.SPLIT:
        notes.append("paths: shares are of samples, as a query goes to several; it is as accurate as the least of them")
    if verdict != "overloaded" and (backlog_ms := undrained_ms(run)):
        notes.append(
            f"the run ends in a backlog of {format_ms(backlog_ms)}: who would have come while it drains is in no figure"
        )
    if extrapolated := int(run.totals.counts[kernels.EXTRAPOLATED]):
        share = extrapolated / counted
        queries = format_items(extrapolated, "query")
        notes.append(f"{queries} ({share:.3%}) had a size outside the latency table of the path taken")
    if refused := int(run.totals.counts[kernels.REFUSED]):
        notes.append(f"refused, and so late: {format_items(refused, 'query')} ({refused / counted:.3%})")
    notes += _event_notes(run)
    if settling_share > _LONG_START:
        notes.append(
            f"the first {settling_share:.0%} of the run are unlike the rest (MSER on mean latencies), but are counted "
            "beyond the warm-up"
        )
    if any(device.busy_w is not None and device.idle_w is None for device in plan.devices):
        notes.append("energy: a device without a known idle power counts as drawing none while idle")
    return (*notes, _sla_note(plan.workload.percentile, run, counted))


def _hit_rates(plan: Plan) -> list[str]:
    looked_into = {path.cache for path in plan.paths}
    return [
        f"cache {cache.name}: {hit_rate(cache, plan.workload.ids):.1%} of the lookups hit"
        for cache in plan.caches
        if cache.name in looked_into
    ]


def _event_notes(run: Run) -> list[str]:
    if run.events is None:
        return []
    loop, notes = run.events.state.loop_1[0], []
    if lost := loop["losses"]:
        notes.append(f"a server went down under a query {format_items(lost, 'time')}")
    if given_up := loop["given_up"]:
        notes.append(f"given up, as no server stayed up for long enough: {format_items(given_up, 'query')}")
    if spared := loop["spared"]:
        notes.append(
            f"{format_items(spared, 'server')} failed no more at the end of the run: so many failures had come while "
            "no query ended"
        )
    if run.overflow:
        held = len(run.events.state.queries_H)
        overflow = format_items(run.overflow, "query")
        notes.append(f"refused, as the system holds {format_items(held, 'query')} at most: {overflow}")
    return notes


def _unmeetable_slas(plan: Plan, run: Run) -> list[str]:
    """The SLAs that no path meets at the percentile of the queries' sizes, and by how much."""
    fastest_ms_S = run.paths.service_ms_SP.min(axis=1)
    keys = [f"workload.classes.{one.name}.sla_ms" for one in plan.workload.classes] or ["sla_ms"]
    notes = []
    for key, sla_ms, queries_S in zip(keys, run.sla_ms_C.tolist(), run.totals.queries_CS, strict=True):
        size = _deciding_size(run.rule.kind, plan.workload.percentile, fastest_ms_S, queries_S)
        if size is None or (needed_ms := float(fastest_ms_S[size])) <= sla_ms:
            continue
        path = plan.paths[int(run.paths.service_ms_SP[size].argmin())]
        notes.append(
            f"{key}: {format_ms(sla_ms)} is below the fastest path: {path.name} takes {format_ms(needed_ms)} on "
            f"average at size {size}, even on an idle device; nothing can meet it, by {format_ms(needed_ms - sla_ms)}"
        )
    return notes


def _deciding_size(kind: int, percentile: float, fastest_ms_S: Floats, queries_S: Ints) -> int | None:
    """The size at that percentile of the queries, ordered by what the fastest path takes; none where none came.

    Parts of a query may be of any size, so that for `split` it is the size that takes least.
    """
    if kind == kernels.SPLIT:
        return int(fastest_ms_S[1:].argmin()) + 1
    (sizes,) = np.nonzero(queries_S)
    if not sizes.size:
        return None
    by_time = sizes[np.argsort(fastest_ms_S[sizes], kind="stable")]
    up_to = np.cumsum(queries_S[by_time])
    return int(by_time[np.searchsorted(up_to, rank(percentile, int(up_to[-1])), side="right")])


def _sla_note(percentile: float, run: Run, counted: int) -> str:
    late = int(run.totals.counts[kernels.VIOLATIONS]) / counted
    held = {True: "yes", False: "no", None: "too few queries to tell"}[holds_sla(run, percentile)]
    return f"holds the SLA: {held}, {100 * late:.3g} % late, {100 - percentile:.3g} % allowed"
