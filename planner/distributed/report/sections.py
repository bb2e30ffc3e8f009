"""The sections of a sharding page, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from planner.distributed import charts
from planner.distributed.iteration.iteration_time import IterationTime
from planner.distributed.plan import Placement
from planner.distributed.plan_difference import difference_of_phases, difference_of_plans
from planner.distributed.report import columns
from planner.distributed.shard_answer import ShardAnswer, memory_rows, scheme_rows
from planner.distributed.tables import total_bytes
from planner.report.answer import Answer
from planner.report.blocks import Chart, Column, Row, Rows, Section, Table, Tile
from planner.report.cells import format_percent, format_rate
from planner.report.provenance import MEANING
from profiles.units import format_bytes, format_ms

__all__ = ["placement_rows", "shard_headline", "shard_sections"]

# Changes below a nanosecond are rounding.
_SHOWN_MS = 1e-6
_GRADES = (Column(key="grade", title="Figure is", kind="provenance"), Column(key="meaning", title="Meaning"))


def shard_headline(answer: ShardAnswer) -> Answer:
    """The answer in a sentence, what limits it, and its key figures."""
    plan, time = answer.plan, answer.time
    cluster = plan.cluster
    headline = (
        f"{len(plan.placements):,} tables on {cluster.ranks:,} ranks: an iteration of {time.samples:,} samples takes "
        f"{format_ms(time.iteration_ms)}, {format_rate(time.qps)} samples/s."
    )
    longest = max(time.phases, key=lambda phase: phase.critical_ms)
    limit = (
        f"The longest part of the critical path is {longest.name} ({format_ms(longest.critical_ms)}), limited by "
        f"{longest.limit}; {format_percent(time.exposed_comm_share)} of the iteration is transfers that no computation "
        "hides."
    )
    tiles = [
        Tile(label="Iteration", value=format_ms(time.iteration_ms), provenance="estimated"),
        Tile(
            label="Samples/s",
            value=format_rate(time.qps),
            note=f"{plan.batch_per_rank:,} a rank",
            provenance="estimated",
        ),
        Tile(label="Exposed transfers", value=format_percent(time.exposed_comm_share), note="of the iteration"),
        Tile(label="Slowest rank", value=format_ms(plan.slowest_ms), note=f"bound {format_ms(plan.lower_bound_ms)}"),
        Tile(label="Planned in", value=format_ms(plan.plan_seconds * 1e3), note="on one core"),
        Tile(label="Tables", value=format_bytes(total_bytes(plan.tables)), note="with optimizer state"),
    ]
    return Answer(headline=headline, sentences=(limit, _bound_sentence(answer), *answer.notes), tiles=tuple(tiles))


def _bound_sentence(answer: ShardAnswer) -> str:
    plan = answer.plan
    return (
        f"The slowest rank's shards cost {format_ms(plan.slowest_ms)}, {plan.max_over_lower_bound:.4f} times what no "
        f"plan is below on these costs ({plan.bound_kind}), and {plan.max_over_mean:.4f} times the mean rank's."
    )


def shard_sections(answer: ShardAnswer) -> tuple[Section, ...]:
    """Placement, iteration, what-ifs, outlook, other planners and the measured network, as far as they were asked."""
    made = (
        _placement_section(answer),
        _iteration_section(answer),
        _what_if_section(answer),
        _outlook_section(answer),
        _planner_section(answer),
        _comms_section(answer),
        _origin_section(answer),
    )
    return tuple(section for section in made if section is not None)


def placement_rows(answer: ShardAnswer) -> Rows:
    """`table, rows, dim, pooling, scheme, tiers, shards, ranks, bytes, hit_rate`, the largest first."""
    hits = answer.time.hit_rates
    rows = [_placement_row(placement, hits) for placement in answer.plan.placements]
    return tuple(sorted(rows, key=lambda row: -row["bytes"]))


def _placement_row(placement: Placement, hits: Mapping[str, float]) -> dict[str, Any]:
    table, ranks = placement.table, placement.ranks
    shown = ", ".join(map(str, ranks[:6])) + (f" and {len(ranks) - 6} more" if len(ranks) > 6 else "")
    return {
        "table": table.name,
        "rows": table.rows,
        "dim": table.dim,
        "pooling": table.pooling,
        "scheme": placement.scheme,
        "tiers": ", ".join(sorted({shard.tier for shard in placement.shards})),
        "shards": len(placement.shards),
        "ranks": shown,
        "bytes": sum(table.piece_bytes(shard.rows, shard.columns) for shard in placement.shards),
        "hit_rate": hits.get(table.name),
    }


def _placement_section(answer: ShardAnswer) -> Section:
    rows = charts.load_rows(answer.plan, answer.time)
    chart = Chart(
        name="load",
        title="What the shards of each rank cost",
        summary="A bar per rank, and a line that no plan's slowest rank is below.",
        spec=charts.load_chart(rows).to_dict(),
        rows=tuple(rows),
        note=f"The line: {answer.plan.bound_kind}. Balance alone says little: a plan can be even and do too much work.",
    )
    tables = (
        _table("schemes", "How tables are cut", columns.SCHEMES, scheme_rows(answer.plan), half=True),
        _table("memory", "What they hold", columns.MEMORY, memory_rows(answer.plan, answer.time.job), half=True),
        _table("placements", "Where each table lies, the largest first", columns.PLACEMENTS, placement_rows(answer)),
    )
    return Section(anchor="placement", title="Where the tables lie", short="Placement", charts=(chart,), tables=tables)


def _iteration_section(answer: ShardAnswer) -> Section:
    time = answer.time
    rows = charts.timeline_rows(time)
    chart = Chart(
        name="timeline",
        title="One iteration: who waits for whom",
        summary="The streams of a few ranks over the time of an iteration.",
        spec=charts.timeline_chart(rows).to_dict(),
        rows=tuple(rows),
        note="Ranks that others wait for, and the one that waits longest; a dark edge marks the critical path.",
    )
    phases = tuple(asdict(phase) for phase in time.phases)
    prose = (
        f"All transfers one after the other would take {format_ms(time.serial_comm_ms)}, of which computation hides "
        f"{format_percent(time.hidden_comm_share)}. On average a rank waits {format_ms(time.waiting_ms)} for others."
    )
    table = _table("phases", "Phases of an iteration", columns.PHASES, phases)
    return Section(
        anchor="iteration",
        title="What an iteration takes",
        short="Iteration",
        prose=(prose,),
        charts=(chart,),
        tables=(table,),
    )


def _what_if_section(answer: ShardAnswer) -> Section | None:
    if len(answer.outcomes) < 2:
        return None
    moved = [difference_of_plans(answer.plan, one.plan) for one in answer.outcomes]
    rows = [
        {
            **row,
            "change": f"{row['qps_change']:+.1%}".replace("%", " %") if i else "",
            "moved": len(moved[i]) if i else None,
        }
        for i, row in enumerate(answer.rows())
    ]
    tables = [_table("what_ifs", "Each change by itself, planned anew", columns.CHANGES, rows)]
    for i, one in enumerate(answer.outcomes[1:], start=1):
        if changes := _phase_changes(answer.time, one.time):
            title = f"Phases that take another time under {one.name}"
            tables.append(_table(f"phases_{i}", title, columns.PHASE_CHANGES, changes))
    tables += [
        _table(f"moved_{i}", f"Placed otherwise under {one.name}, most bytes first", columns.MOVED, moved[i])
        for i, one in enumerate(answer.outcomes)
        if i and moved[i]
    ]
    return Section(anchor="what-if", title="What if", short="What if", tables=tuple(tables))


def _phase_changes(before: IterationTime, after: IterationTime) -> Rows:
    """`name, before_ms, after_ms, change, critical_change`, those that change most first; what stays is left out."""
    rows = difference_of_phases(before, after)
    changed = [row for row in rows if abs(row["change_ms"]) > _SHOWN_MS or abs(row["critical_change_ms"]) > _SHOWN_MS]
    return tuple(
        {
            **row,
            "change": _signed_ms(row["change_ms"]),
            "critical_change": _signed_ms(row["critical_change_ms"]),
        }
        for row in sorted(changed, key=lambda row: -abs(row["change_ms"]))
    )


def _signed_ms(ms: float) -> str:
    return f"{'-' if ms < 0 else '+'}{format_ms(abs(ms))}" if abs(ms) > _SHOWN_MS else ""


def _outlook_section(answer: ShardAnswer) -> Section | None:
    made, tables = [], []
    if len(answer.scaling) > 1:
        rows = charts.scaling_rows({answer.request.name: answer.scaling})
        made.append(
            Chart(
                name="scaling",
                title="Throughput over nodes",
                summary="Samples per second over the number of nodes, with what perfect scaling would give dashed.",
                spec=charts.scaling_chart(rows).to_dict(),
                rows=tuple(rows),
                note="The batch of a rank is the same; fewer nodes hold fewer rows of every table, so that they fit.",
                half=True,
            )
        )
    if answer.sensitivity:
        own = tuple(
            {**asdict(one), "elasticity": one.elasticity, "base_ms": answer.time.iteration_ms}
            for one in answer.sensitivity
        )
        made.append(
            Chart(
                name="sensitivity",
                title="What each hardware constant is worth",
                summary="Bars from the iteration with a constant halved to that with it doubled.",
                spec=charts.sensitivity_chart(list(own)).to_dict(),
                rows=own,
                note="The plan as it is.",
                half=True,
            )
        )
        tables.append(_table("sensitivity_rows", "With each constant halved and doubled", columns.SENSITIVITY, own))
    if not made:
        return None
    return Section(
        anchor="outlook", title="Other sizes, other hardware", short="Outlook", charts=tuple(made), tables=tuple(tables)
    )


def _planner_section(answer: ShardAnswer) -> Section | None:
    if not answer.planners:
        return None
    rows = [row.to_object() for row in answer.planners]
    table = _table("planners", "The same tables and cluster, by other planners", columns.PLANNERS, rows)
    prose = ("Torchrec's costs leave out the distribution of ids and every latency; the iteration counts both.",)
    return Section(anchor="planners", title="Beside torchrec", short="Torchrec", prose=prose, tables=(table,))


def _comms_section(answer: ShardAnswer) -> Section | None:
    if answer.comms is None:
        return None
    rows = [{**asdict(row), "off": f"{100 * row.error:+.0f} %"} for row in answer.replayed]
    table = _table("replayed", "The plan's own messages, replayed", columns.REPLAYED, rows)
    prose = (
        f"Collectives were measured on {answer.comms.nodes} x {answer.comms.devices_per_node} ranks over "
        f"{answer.comms.backend}; their times stand in the network's table."
    )
    return Section(anchor="comms", title="The network, measured", short="Network", prose=(prose,), tables=(table,))


def _origin_section(answer: ShardAnswer) -> Section:
    rows = tuple({"grade": name, "meaning": text} for name, text in MEANING.items())
    table = Table(name="grades", caption="Grades", columns=_GRADES, rows=rows)
    cluster = answer.plan.cluster
    source = f"Cluster {cluster.name}: {cluster.source}" if cluster.source else f"Cluster {cluster.name}"
    return Section(
        anchor="provenance",
        title="Where the figures come from",
        short="Provenance",
        prose=(source, *answer.plan.assumptions),
        tables=(table,),
    )


def _table(name: str, caption: str, shown: tuple[Column, ...], rows: Sequence[Row], *, half: bool = False) -> Table:
    return Table(name=name, caption=caption, columns=shown, rows=tuple(rows), half=half)
