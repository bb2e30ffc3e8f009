"""What `recplan shard` shows in the terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from planner.cli.output import print_lines, print_table
from planner.report.cells import format_percent, format_rate
from profiles.units import format_bytes, format_ms

if TYPE_CHECKING:
    from planner.distributed.shard_answer import ShardAnswer
    from planner.distributed.whatif import Outcome

__all__ = ["show_answer"]

# The plan as it is and one what-if: both are shown side by side.
_ALONE = 2
_MOST_ROWS = 8


def show_answer(answer: "ShardAnswer") -> None:
    """The plan, the iteration, and whatever else was asked for."""
    _show_summary(answer)
    _show_placement(answer)
    _show_phases(answer)
    if len(answer.outcomes) > 1:
        _show_what_ifs(answer)
    if len(answer.outcomes) == _ALONE:
        _show_difference(answer, answer.outcomes[1])
    _show_outlook(answer)
    if answer.planners:
        _show_planners(answer)
    if answer.replayed:
        _show_replayed(answer)
    print_lines(f"note: {note}" for note in (*answer.notes, *answer.plan.assumptions))


def _show_summary(answer: "ShardAnswer") -> None:
    from planner.distributed.tables import total_bytes

    plan, time = answer.plan, answer.time
    cluster = plan.cluster
    held = f"{len(plan.placements):,} tables, {format_bytes(total_bytes(plan.tables))} with optimizer state"
    slowest = f"{format_ms(plan.slowest_ms)} of shards, {plan.max_over_lower_bound:.4f} x the lower bound"
    exposed = f"{format_percent(time.exposed_comm_share)} of the iteration exposed"
    iteration = f"{format_ms(time.iteration_ms)} for {time.samples:,} samples"
    print_lines(
        [
            f"{held}, on {cluster.nodes:,} x {cluster.devices_per_node} ranks of {cluster.name}",
            f"  planned in    {format_ms(plan.plan_seconds * 1e3)}",
            f"  slowest rank  {slowest} ({plan.bound_kind}), {plan.max_over_mean:.4f} x the mean",
            f"  iteration     {iteration}: {format_rate(time.qps)} samples/s",
            f"  transfers     {exposed}; a rank waits {format_ms(time.waiting_ms)} for others",
        ]
    )
    if time.cost_per_million_samples is not None:
        print_lines([f"  cost          {time.cost_per_million_samples:.3g} per million samples"])


def _show_placement(answer: "ShardAnswer") -> None:
    from planner.distributed.shard_answer import memory_rows, scheme_rows

    print_table(
        "How tables are cut",
        ("scheme", "tables", "shards", "held"),
        [
            (row["scheme"], f"{row['tables']:,}", f"{row['shards']:,}", format_bytes(row["bytes"]))
            for row in scheme_rows(answer.plan)
        ],
    )
    print_table(
        "Memory",
        ("memory", "tables", "of", "fullest rank", "all else", "has"),
        [
            (row["tier"], *_bytes(row, ("held_bytes", "tier_bytes", "fullest_bytes", "other_bytes", "device_bytes")))
            for row in memory_rows(answer.plan, answer.time.job)
        ],
    )


def _show_phases(answer: "ShardAnswer") -> None:
    rows = [
        (
            phase.name,
            phase.phase,
            phase.limit,
            format_ms(phase.mean_ms),
            format_ms(phase.max_ms),
            format_ms(phase.exposed_ms),
            format_ms(phase.critical_ms),
        )
        for phase in answer.time.phases
    ]
    columns = ("phase", "pass", "limited by", "mean", "longest", "exposed", "critical")
    print_table("One iteration", columns, rows, text_columns=3, folding=(0,))


def _show_what_ifs(answer: "ShardAnswer") -> None:
    rows = [
        (
            row["name"],
            row["most_changed"] or "",
            format_ms(row["iteration_ms"]),
            format_rate(row["qps"]),
            f"{row['qps_change']:+.1%}" if row["name"] != "as it is" else "",
            format_percent(row["exposed_comm_share"]),
        )
        for row in answer.rows()
    ]
    columns = ("what if", "changed most", "iteration", "samples/s", "change", "exposed")
    print_table("What if", columns, rows, text_columns=2, folding=(0, 1))


def _show_difference(answer: "ShardAnswer", outcome: "Outcome") -> None:
    """What one what-if changes, by phase and by table."""
    from planner.distributed.plan_difference import difference_of_phases, difference_of_plans

    found = difference_of_phases(answer.time, outcome.time)
    phases = sorted((row for row in found if row["change_ms"]), key=lambda row: -abs(row["change_ms"]))
    tables = difference_of_plans(answer.plan, outcome.plan)
    if phases:
        print_table(
            f"Phases under {outcome.name}",
            ("phase", "as it is", "then"),
            [(row["name"], format_ms(row["before_ms"]), format_ms(row["after_ms"])) for row in phases[:_MOST_ROWS]],
        )
    if not tables:
        print_lines([f"All tables lie as before under {outcome.name}"])
        return
    shown = [
        (
            row["table"],
            row["change"],
            f"{row['scheme'] or '-'} x {row['ranks']}",
            f"{row['new_scheme'] or '-'} x {row['new_ranks']}",
            format_bytes(row["moved_bytes"]),
        )
        for row in tables[:_MOST_ROWS]
    ]
    title = f"Tables placed otherwise under {outcome.name}: {len(tables):,}, most bytes first"
    print_table(title, ("table", "change", "as it is", "then", "to move"), shown, text_columns=4)


def _show_outlook(answer: "ShardAnswer") -> None:
    if len(answer.scaling) > 1:
        rows = [
            (f"{point.nodes:,}", format_rate(point.time.qps), format_percent(point.efficiency),
             format_percent(point.time.exposed_comm_share))
            for point in answer.scaling
        ]  # fmt: skip
        print_table("Over nodes", ("nodes", "samples/s", "efficiency", "exposed"), rows, text_columns=0)
    if answer.sensitivity:
        found = [
            (one.constant, format_ms(one.divided_ms), format_ms(one.multiplied_ms), f"{one.elasticity:+.2f}")
            for one in answer.sensitivity
            if abs(one.elasticity) >= 0.005
        ]
        print_table("What hardware is worth", ("constant", "halved", "doubled", "elasticity"), found)


def _show_planners(answer: "ShardAnswer") -> None:
    rows = [
        (
            row.planner,
            format_ms(row.plan_seconds * 1e3),
            "" if row.torchrec_ms is None else format_ms(row.torchrec_ms),
            "" if row.torchrec_over_bound is None else f"{row.torchrec_over_bound:.3f}",
            "" if row.max_over_mean is None else f"{row.max_over_mean:.3f}",
            format_ms(row.iteration_ms),
            format_rate(row.qps),
        )
        for row in answer.planners
    ]
    columns = ("planner", "planned in", "slowest rank", "over bound", "over mean", "iteration", "samples/s")
    print_table("Beside torchrec; ranks on its costs, iterations by the model", columns, rows, folding=(0,))


def _show_replayed(answer: "ShardAnswer") -> None:
    rows = [
        (
            row.collective,
            format_bytes(row.message_bytes),
            f"{row.calls:,}",
            format_ms(row.measured_ms),
            format_ms(row.predicted_ms),
            f"{row.error:+.0%}",
        )
        for row in answer.replayed
    ]
    columns = ("collective", "message", "calls", "measured", "predicted", "off")
    print_table("Messages replayed, beside what the fixed sizes predict", columns, rows, folding=(0,))


def _bytes(row: dict[str, Any], keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(format_bytes(row[key]) for key in keys)
