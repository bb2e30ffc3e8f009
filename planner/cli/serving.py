"""`recplan simulate`: a plan under load, and the simulator against queueing theory. Nothing here loads torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli import capacity
from planner.cli.intervals import show_intervals
from planner.cli.loading import load_numba
from planner.cli.naming import naming_options
from planner.cli.options import Edits, Json, Qps, Seed, SlaMs
from planner.cli.out_folder import try_out
from planner.cli.output import message, print_json, print_lines, print_table
from profiles.units import format_items, format_ms

if TYPE_CHECKING:
    from serving_sim.metrics import SimulationResult
    from serving_sim.plan import Plan
    from serving_sim.policies import Policy
    from serving_sim.self_check import Check

__all__ = ["register", "simulate"]


def register(app: typer.Typer) -> None:
    """Add this command and `capacity`."""
    app.command()(simulate)
    capacity.register(app)


def simulate(
    plan: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PLAN]",
            help="A plan (JSON), as `recplan map` writes it, or a preset's name; --self-check can do without.",
        ),
    ] = None,
    qps: Qps = None,
    sla_ms: SlaMs = None,
    queries: Annotated[
        int | None,
        typer.Option(
            "--queries", help="How many queries, instead of the plan's; with --self-check, of each queue (2,000,000)."
        ),
    ] = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Instead of the plan's.")] = None,
    self_check: Annotated[
        bool,
        typer.Option("--self-check", help="Hold the simulator to queueing theory, and the plan's run to its laws."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of charts and frames, other policies and loads beside it."),
    ] = None,
    table_errors: Annotated[
        bool,
        typer.Option(
            "--table-errors/--no-table-errors",
            help="Run twice more, at both ends of the latency tables' error bars, where the plan has any.",
        ),
    ] = True,
    seed: Seed = None,
    edits: Edits = None,
    json: Json = False,
) -> None:
    """Simulate a plan under load."""
    load_numba()
    from serving_sim.engine import resolve_plan
    from serving_sim.engine import simulate as run
    from serving_sim.plan import edited_options, load_plan
    from serving_sim.policies import named_policies

    given = {"qps": qps, "sla_ms": sla_ms, "queries": queries, "policy": policy}
    if self_check:
        _require_none({"--out": out})
        if policy is not None:
            raise typer.BadParameter("--self-check follows the plan's policy; --set policy.name=NAME changes it")
    if plan is None:
        if not self_check:
            raise typer.BadParameter("name a PLAN, or --self-check")
        _require_none({"--qps": qps, "--sla-ms": sla_ms, "--seed": seed, "--set": edits}, " without a PLAN")
        with naming_options(given):
            _self_check(None, queries, json=json)
        return
    loaded = load_plan(plan, edits or ())
    with naming_options(given):
        router = None if policy is None else named_policies([policy], loaded.policy, edited_options(edits or ()))[0]
        if self_check:
            _self_check(resolve_plan(loaded, qps=qps, sla_ms=sla_ms, seed=seed), queries, json=json)
            return
        resolved = resolve_plan(loaded, queries=queries, seed=seed, qps=qps, sla_ms=sla_ms)
    if out is not None:
        try_out(out)
    result = run(resolved, policy=router, table_errors=table_errors)
    if out is not None:
        _save(resolved, router, out)
    if json:
        print_json(result.to_object())
    else:
        _show_simulation(result)
        _show_preset(plan, resolved)


def _require_none(unused: Mapping[str, object], where: str = "") -> None:
    """`BadParameter` where an option is given that a self-check takes nothing from."""
    if given := [name for name, value in unused.items() if value not in (None, [])]:
        raise typer.BadParameter(f"--self-check{where} goes without {', '.join(given)}")


def _show_preset(name: str | Path, plan: "Plan") -> None:
    """What a preset takes from where: its figures are no one's measurement."""
    from serving_sim.presets import PRESETS

    if str(name) in PRESETS:
        print_lines(f"preset: {note}" for note in plan.notes)


def _save(plan: "Plan", policy: "Policy | None", out: Path) -> None:
    from serving_sim.charts_saved import save_charts

    files = save_charts(plan, plan.policy if policy is None else policy, out)
    message(f"wrote {', '.join(files)} to {out}")


def _self_check(plan: "Plan | None", queries: int | None, *, json: bool) -> None:
    from serving_sim.self_check import self_check

    checks = self_check(plan=plan) if queries is None else self_check(queries, plan=plan)
    failed = sum(not one.passed for one in checks)
    if json:
        print_json({"checks": [one.to_object() for one in checks], "failed": failed})
    else:
        columns = ("queue", "figure", "expected", "simulated", "off by", "std.\nerror", "allowed", "verdict")
        rows = [_check_row(one) for one in checks]
        print_table("The simulator against theory", columns, rows, text_columns=2, folding={0: 9, 1: 10})
        print_lines([f"{len(checks) - failed} of {len(checks)} right"])
    if failed:
        raise typer.Exit(1)


def _check_row(one: "Check") -> tuple[str, ...]:
    return (
        one.subject,
        one.figure,
        f"{one.expected:,.5g}",
        f"{one.simulated:,.5g}",
        _share(one.simulated - one.expected, one.expected),
        "" if one.standard_error is None else _share(one.standard_error, one.expected),
        _share(one.allowed, one.expected),
        "right" if one.passed else "WRONG",
    )


def _share(value: float, whole: float) -> str:
    return f"{value / whole:.2%}" if whole else f"{value:.2g}"


def _show_simulation(result: "SimulationResult") -> None:
    latency = "  ".join(f"{name} {format_ms(value)}" for name, value in result.latency_ms.items())
    bound = result.fluid_bound_share
    *notes, sla_note = result.notes
    slas = ", ".join(f"{one.name} {one.sla_ms:g} ms" for one in result.classes) or f"{result.sla_ms:g} ms"
    print_lines(
        [
            f"{result.policy} at {result.qps:.10g} queries/s, SLA {slas}: {result.verdict}",
            f"  {sla_note} ({format_items(result.counted, 'query')} counted)",
            f"  latency       {latency}",
            f"  accuracy      {result.accuracy:.2%}",
            f"  right in SLA  {result.correct_predictions_in_sla_per_s:,.0f} predictions/s"
            + (f", {bound:.1%} of what any policy could" if bound is not None else ""),
        ]
    )
    show_intervals(result)
    if result.energy_j_per_query is not None:
        print_lines([f"  energy        {result.energy_j_per_query:.3g} J per query (modelled)"])
    if result.cost_per_million_correct is not None:
        print_lines([f"  cost          {result.cost_per_million_correct:.3g} per million right in SLA (modelled)"])
    if result.classes:
        print_table("Classes", ("class", "SLA", "p50", "p99", "late", "in SLA/s"), _class_rows(result))
    shares = [(name, f"{share:.1%}") for name, share in result.path_share.items()]
    print_table("Paths", ("path", f"share of {result.path_share_of}"), shares)
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
