"""`recplan capacity`: how much load a plan holds, and which devices a load needs. Nothing here loads torch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.loading import load_numba
from planner.cli.naming import naming_options
from planner.cli.options import Edits, Json, PlanFile, Seed, SlaMs
from planner.cli.output import print_json, print_lines, print_table
from profiles.errors import InputError
from profiles.units import format_items, format_ms

if TYPE_CHECKING:
    from serving_sim.capacity import CapacityResult, PolicyCapacity
    from serving_sim.devices_needed import DevicesNeeded
    from serving_sim.plan import Workload

__all__ = ["capacity", "register"]

_QUERIES = 100_000
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="Policy to judge. Repeatable.",
        show_default="the plan's, mp-rec, table-switch, headroom",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(capacity)


def capacity(
    plan: PlanFile,
    policy: Policies = None,
    qps: Annotated[float | None, typer.Option("--qps", hidden=True)] = None,
    sla_ms: SlaMs = None,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            metavar="SHARE",
            help="Choose queries and seeds so that half of the seeds' interval is at most this share, e.g. 0.01.",
        ),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(
            "--queries", min=100, help="Queries per run.", show_default="100000; MLPerf's with early stopping"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=2, help="Seeds behind the confidence interval.")] = 5,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="A rate holds where MLPerf's early stopping passes every run.")
    ] = False,
    n_plus_one: Annotated[
        bool, typer.Option("--n-plus-one", help="Also with any one device down; with --for-qps, any one replica.")
    ] = False,
    for_qps: Annotated[
        float | None, typer.Option("--for-qps", metavar="QPS", help="The cheapest replicas that hold this rate.")
    ] = None,
    most: Annotated[
        int, typer.Option("--most", min=1, help="With --for-qps: the most replicas of each device to consider.")
    ] = 8,
    seed: Seed = None,
    edits: Edits = None,
    json: Json = False,
) -> None:
    """Find the highest QPS at which the SLA percentile holds, per policy, or what a QPS needs (--for-qps)."""
    if qps is not None:
        raise InputError("--qps: every rate is tried, whatever the plan's; --for-qps finds what devices a rate needs")
    load_numba()
    from serving_sim.capacity import DEFAULT_POLICIES, find_capacity
    from serving_sim.devices_needed import devices_needed
    from serving_sim.early_stopping import nominal_queries
    from serving_sim.engine import resolve_plan
    from serving_sim.plan import edited_options, load_plan
    from serving_sim.policies import named_policies
    from serving_sim.suitable import suitable_policies

    loaded = load_plan(plan, edits or ())
    names = dict.fromkeys(policy or (loaded.policy.name, *DEFAULT_POLICIES))
    with naming_options({"sla_ms": sla_ms, "policy": policy}):
        routers = named_policies(tuple(names), loaded.policy, edited_options(edits or ()))
        resolved = resolve_plan(loaded, sla_ms=sla_ms, seed=seed)
    if for_qps is not None:
        if precision is not None or early_stopping:
            raise typer.BadParameter("--for-qps goes with neither --precision nor --early-stopping")
        with naming_options({"qps": for_qps, "most": most}, qps="--for-qps"):
            needed = [
                devices_needed(
                    resolved, for_qps, one, most=most, queries=queries or _QUERIES, seeds=seeds, n_plus_one=n_plus_one
                )
                for one in (routers if policy else suitable_policies(resolved, routers))
            ]
        if json:
            print_json(_needed_object(resolved.workload, needed))
        else:
            _show_needed(resolved.workload, needed)
        return
    nominal = nominal_queries(resolved.workload.percentile) if early_stopping else _QUERIES
    with naming_options({"precision": precision, "queries": queries}):
        result = find_capacity(
            resolved,
            routers,
            precision=precision,
            queries=queries or nominal,
            seeds=seeds,
            early_stopping=early_stopping,
            n_plus_one=n_plus_one,
        )
    if json:
        print_json(result.to_object())
    else:
        _show_capacity(result)


def _show_capacity(result: "CapacityResult") -> None:
    has_tables = any(row.table_low is not None for row in result.policies)
    has_spare = any(row.n_plus_one is not None for row in result.policies)
    columns = ["policy", "QPS", "95 % by seeds", *(["by tables", "by both"] if has_tables else [])]
    columns += [*(["one device down"] if has_spare else []), "accuracy", "right/s"]
    rows = [_capacity_row(row, has_tables=has_tables, has_spare=has_spare) for row in result.policies]
    passed = ", early stopping passed" if result.early_stopping else ""
    title = f"Highest QPS with p{result.percentile:g} within {_slas(result.sla_ms, result.slas_by_class)}{passed}"
    print_table(title, columns, rows)
    print_lines([_sample_line(result)])
    most = f"{result.upper_bound_qps:,.0f} queries/s"
    print_lines([f"one by one and with none refused, these devices serve at most {most} whatever the policy"])
    print_lines(f"note: {row.policy}: {row.note}" for row in result.policies if row.note)
    print_lines(f"note: {name} is left out: {why}" for name, why in result.left_out.items())


def _capacity_row(row: "PolicyCapacity", *, has_tables: bool, has_spare: bool) -> list[str]:
    cells = [row.policy, f"{row.max_qps:,.0f}", _range(row.ci_low, row.ci_high)]
    if has_tables:
        cells += [_range(row.table_low, row.table_high), _range(row.combined_low, row.combined_high)]
    if has_spare:
        spare = row.n_plus_one
        cells.append("" if spare is None else f"{spare.max_qps:,.0f} without {spare.device}")
    return [*cells, f"{row.accuracy:.2%}", f"{row.correct_predictions_per_s:,.0f}"]


def _sample_line(result: "CapacityResult") -> str:
    drawn = f"{format_items(result.seeds, 'seed')} of {format_items(result.queries, 'query')}"
    if result.reached is None:
        return drawn
    asked = "" if result.precision is None else f" ({result.precision:.2%} asked for)"
    short = result.precision is not None and result.reached > result.precision
    return f"{drawn}; known to {result.reached:.2%}{asked}" + (", which is the most that is tried" if short else "")


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:,.0f} to {high:,.0f}"


def _slas(sla_ms: float, by_class: dict[str, float] | None) -> str:
    return ", ".join(f"{name} {format_ms(own_ms)}" for name, own_ms in (by_class or {}).items()) or format_ms(sla_ms)


def _slas_by_class(load: "Workload") -> dict[str, float] | None:
    return {one.name: one.sla_ms for one in load.classes} or None


def _needed_object(load: "Workload", needed: "Sequence[DevicesNeeded]") -> dict[str, object]:
    slas = {"sla_ms": load.sla_ms, "slas_by_class": _slas_by_class(load)}
    return {**slas, "qps": needed[0].qps, "policies": [one.to_object() for one in needed]}


def _show_needed(load: "Workload", needed: "Sequence[DevicesNeeded]") -> None:
    rows = [
        (
            one.policy,
            " + ".join(f"{count} {name}" for name, count in one.replicas.items() if count) or "none found",
            "" if one.cost_per_hour is None else f"{one.cost_per_hour:,.2f}",
            "" if one.cost_per_million_correct is None else f"{one.cost_per_million_correct:.3g}",
            f"{one.accuracy:.2%}" if one.replicas else "",
            f"{one.tried} of {one.tried + one.ruled_out}",
        )
        for one in needed
    ]
    down = ", any one replica down" if needed[0].n_plus_one else ""
    slas = _slas(load.sla_ms, _slas_by_class(load))
    title = f"Cheapest replicas for {needed[0].qps:,.0f} queries/s within {slas}{down}"
    columns = ("policy", "replicas", "per hour", "per million right", "accuracy", "simulated")
    print_table(title, columns, rows, text_columns=2)
    print_lines(f"note: {one.policy}: {one.note}" for one in needed if one.note)
