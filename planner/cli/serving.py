"""`recplan simulate` and `recplan capacity`: what-ifs on a plan. Nothing here loads torch."""

from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import Edits, Json, PlanFile, Qps, Seed, SlaMs
from planner.cli.output import print_json, print_lines, print_table
from profiles.units import format_ms

if TYPE_CHECKING:
    from serving_sim.capacity import CapacityResult
    from serving_sim.metrics import SimulationResult

__all__ = ["capacity", "register", "simulate"]

Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy", metavar="NAME", help="Policy to judge. Repeatable.", show_default="the plan's, mp-rec, table-switch"
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(simulate)
    app.command()(capacity)


def simulate(
    plan: PlanFile,
    qps: Qps = None,
    sla_ms: SlaMs = None,
    queries: Annotated[int | None, typer.Option("--queries", help="How many queries, instead of the plan's.")] = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Instead of the plan's.")] = None,
    seed: Seed = None,
    edits: Edits = None,
    json: Json = False,
) -> None:
    """Simulate a plan under load."""
    from serving_sim.engine import simulate as run
    from serving_sim.plan import edited_options, load_plan
    from serving_sim.policies import named_policies

    loaded = load_plan(plan, edits or ())
    router = None if policy is None else named_policies([policy], loaded.policy, edited_options(edits or ()))[0]
    result = run(loaded, policy=router, queries=queries, seed=seed, qps=qps, sla_ms=sla_ms)
    if json:
        print_json(result.to_object())
    else:
        _show_simulation(result)


def capacity(
    plan: PlanFile,
    policy: Policies = None,
    qps: Qps = None,
    sla_ms: SlaMs = None,
    queries: Annotated[int, typer.Option("--queries", min=100, help="Queries per run.")] = 100_000,
    seeds: Annotated[int, typer.Option("--seeds", min=2, help="Seeds behind the confidence interval.")] = 5,
    seed: Seed = None,
    edits: Edits = None,
    json: Json = False,
) -> None:
    """Find the highest QPS at which the SLA percentile holds, per policy."""
    from serving_sim.capacity import DEFAULT_POLICIES, find_capacity
    from serving_sim.engine import resolve_plan
    from serving_sim.plan import edited_options, load_plan
    from serving_sim.policies import named_policies

    loaded = load_plan(plan, edits or ())
    names = dict.fromkeys(policy or (loaded.policy.name, *DEFAULT_POLICIES))
    routers = named_policies(tuple(names), loaded.policy, edited_options(edits or ()))
    resolved = resolve_plan(loaded, qps=qps, sla_ms=sla_ms, seed=seed)
    result = find_capacity(resolved, routers, queries=queries, seeds=seeds)
    if json:
        print_json(result.to_object())
    else:
        _show_capacity(result)


def _show_simulation(result: "SimulationResult") -> None:
    latency = "  ".join(f"{name} {format_ms(value)}" for name, value in result.latency_ms.items())
    bound = result.fluid_bound_share
    *notes, sla_note = result.notes
    print_lines(
        [
            f"{result.policy} at {result.qps:g} queries/s, SLA {result.sla_ms:g} ms: {result.verdict}",
            f"  {sla_note} ({result.counted:,} queries counted)",
            f"  latency       {latency}",
            f"  accuracy      {result.accuracy:.2%}",
            f"  right in SLA  {result.correct_predictions_in_sla_per_s:,.0f} predictions/s"
            + (f", {bound:.1%} of what any policy could" if bound is not None else ""),
        ]
    )
    if result.energy_j_per_query is not None:
        print_lines([f"  energy        {result.energy_j_per_query:.3g} J per query (modelled)"])
    if result.cost_per_million_correct is not None:
        print_lines([f"  cost          {result.cost_per_million_correct:.3g} per million right in SLA (modelled)"])
    if result.classes:
        print_table("Classes", ("class", "SLA", "p50", "p99", "late", "in SLA/s"), _class_rows(result))
    shares = [(name, f"{share:.1%}") for name, share in result.path_share.items()]
    print_table("Paths", ("path", "share of queries"), shares)
    print_table(
        "Devices",
        ("device", "utilisation"),
        [(name, f"{used:.1%}") for name, used in result.device_utilisation.items()],
    )
    print_lines(f"note: {note}" for note in notes)


def _class_rows(result: "SimulationResult") -> list[tuple[str, ...]]:
    return [
        (
            one.name,
            format_ms(one.sla_ms),
            format_ms(one.latency_ms["p50"]),
            format_ms(one.latency_ms["p99"]),
            f"{one.sla_violation_share:.2%}",
            f"{one.goodput_qps:,.0f}",
        )
        for one in result.classes
    ]


def _show_capacity(result: "CapacityResult") -> None:
    rows = [
        (
            row.policy,
            f"{row.max_qps:,.0f}",
            f"{row.ci_low:,.0f} to {row.ci_high:,.0f}",
            f"{row.accuracy:.2%}",
            f"{row.correct_predictions_per_s:,.0f}",
        )
        for row in result.policies
    ]
    title = f"Highest QPS with p{result.percentile:g} within {result.sla_ms:g} ms"
    print_table(title, ("policy", "QPS", "95 % interval", "accuracy", "right/s"), rows)
    print_lines([f"no policy can serve more than {result.upper_bound_qps:,.0f} queries/s on these devices"])
    print_lines(f"note: {row.policy}: {row.note}" for row in result.policies if row.note)
