"""`recplan replay`: serve a plan for real on this machine, beside its simulation."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.loading import tell_of_compiling
from planner.cli.naming import naming_options
from planner.cli.options import Edits, Json, PlanFile, Qps, Seed, SlaMs
from planner.cli.out_folder import try_out
from planner.cli.output import message, print_json, print_lines, print_table
from profiles.errors import InputError
from profiles.units import format_ms

if TYPE_CHECKING:
    from serving_sim.replay.comparison import PathComparison, RunComparison
    from serving_sim.replay.figures import Figures
    from serving_sim.replay.replaying import Replay

__all__ = ["register", "replay"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(replay)


def replay(
    plan: PlanFile,
    load: Annotated[
        str | None,
        typer.Option(
            "--load",
            metavar="SHARE,...",
            help="Shares of what this machine serves at most, e.g. 0.3,0.6,0.8.",
            show_default="the plan's rate",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", help="How long each load is served.")] = 24.0,
    qps: Qps = None,
    sla_ms: SlaMs = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Instead of the plan's.")] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of each worker.")] = 1,
    busy_poll: Annotated[
        bool, typer.Option("--busy-poll", help="Workers look for queries all the time instead of sleeping.")
    ] = False,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="PATH=FILE",
            help="Exported weights of a path. Repeatable.",
            show_default="random weights",
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve on Ray Serve instead, a deployment for each device.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of charts, and of every query as it was served."),
    ] = None,
    seed: Seed = None,
    edits: Edits = None,
    json: Json = False,
) -> None:
    """Serve a plan for real on this machine, beside its simulation."""
    from serving_sim.engine import resolve_plan
    from serving_sim.plan import edited_options, load_plan
    from serving_sim.policies import named_policies
    from serving_sim.replay.live import LiveOptions
    from serving_sim.replay.replaying import ReplayOptions, replay_plan

    if load is not None and qps is not None:
        raise typer.BadParameter("--load and --qps each say the rate: give one of them")
    loaded = load_plan(plan, edits or ())
    exports = _exports(model or (), [path.name for path in loaded.paths])
    if out is not None:
        try_out(out)
    given = {"qps": qps, "sla_ms": sla_ms, "policy": policy, "load": load, "seconds": seconds, "busy_poll": busy_poll}
    ended = (lambda _: None) if json else _show_run
    tell_of_compiling()
    with naming_options(given):
        router = None if policy is None else named_policies([policy], loaded.policy, edited_options(edits or ()))[0]
        resolved = resolve_plan(loaded, qps=qps, sla_ms=sla_ms, seed=seed)
        live = LiveOptions(threads=threads, busy_poll=busy_poll, exports=exports)
        options = ReplayOptions(loads=_shares(load), seconds=seconds, live=live, on_serve=serve)
        replayed = replay_plan(resolved, policy=router, options=options, tell=message, ended=ended)
    if out is not None:
        _save(replayed, out)
    if json:
        print_json(replayed.to_object())
    else:
        _show_notes(replayed)


def _shares(text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise InputError(f"--load: must be numbers apart by commas, but got {text!r}") from error


def _exports(given: Sequence[str], paths: Sequence[str]) -> dict[str, Path]:
    from profiles.errors import UnknownNameError

    exports = {}
    for one in given:
        name, equals, file = one.partition("=")
        if not equals:
            raise InputError(f"--model: must be PATH=FILE, but got {one!r}")
        if name not in paths:
            raise UnknownNameError("--model", name, paths)
        exports[name] = Path(file)
    return exports


def _save(replayed: "Replay", out: Path) -> None:
    from serving_sim.replay.saved import save_replay

    message(f"wrote {', '.join(save_replay(replayed, out))} to {out}")


def _show_notes(replayed: "Replay") -> None:
    notes = dict.fromkeys([*replayed.skipped, *(note for run in replayed.runs for note in run.notes)])
    print_lines(f"note: {note}" for note in notes)


def _show_run(run: "RunComparison") -> None:
    from serving_sim.replay.comparison import AS_PLANNED, CALIBRATED

    load = "" if run.load is None else f", load {run.load:g}"
    used = ", ".join(f"{name} {share:.0%} busy" for name, share in run.utilisation.items())
    refused = f", {run.refused:,} refused" if run.refused else ""
    sla = ", ".join(f"{sla_ms:g}" for sla_ms in run.slas_ms)
    title = f"{run.qps:,.0f} queries/s{load}, SLA {sla} ms: {run.queries:,} queries{refused}, {used}"
    columns = ("", "p50", "p95", "p99", "late")
    judged = run.predicted
    rows = [
        ("measured", *_figures(judged.measured)),
        (CALIBRATED, *_figures(judged.simulated)),
        ("  error", *_errors(judged.error)),
        ("  the run's own spread", *_errors(run.spread)),
        (AS_PLANNED, *_figures(run.as_planned.simulated)),
        ("  error", *_errors(run.as_planned.error)),
        ("measured, all of the run", *_figures(run.queue_logic.measured)),
        ("simulated, its own service times", *_figures(run.queue_logic.simulated)),
        ("  error", *_errors(run.queue_logic.error)),
    ]
    print_table(title, columns, rows)
    paths = [row for path in run.paths for row in _path_rows(path)]
    if run.refused:
        served = sum(one.share for one in run.paths)
        simulated = sum(one.simulated_share for one in run.paths)
        paths += [("refused", "measured", f"{1 - served:.1%}", *_figures(None))]
        paths += [("", "simulated", f"{1 - simulated:.1%}", *_figures(None))]
    print_table("Paths", ("path", "", "share", *columns[1:]), paths, text_columns=2)


def _path_rows(path: "PathComparison") -> Iterator[tuple[str, ...]]:
    yield (path.name, "measured", f"{path.share:.1%}", *_figures(path.beside.measured))
    yield ("", "simulated", f"{path.simulated_share:.1%}", *_figures(path.beside.simulated))


def _figures(figures: "Figures | None") -> tuple[str, ...]:
    if figures is None:
        return ("",) * 4
    return (
        *(format_ms(value) for value in (figures.p50, figures.p95, figures.p99)),
        f"{figures.sla_violation_share:.2%}",
    )


def _errors(error: "Figures | None") -> tuple[str, ...]:
    if error is None:
        return ("",) * 4
    return (*(f"{value:+.1%}" for value in (error.p50, error.p95, error.p99)), f"{error.sla_violation_share:+.2%}")
