"""`recplan search`: candidates that nothing beats, and one of them rebuilt."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.options import Json, Out, Ray, Storage, StudyFile, Trials
from planner.cli.output import message, print_json, print_lines, print_table
from planner.cli.study_job import AllowStale, Profiles, StudyJob, open_job

if TYPE_CHECKING:
    from planner.cost_model.composition import CostModel
    from planner.pipeline.building import BuiltTrial
    from planner.pipeline.data import StudyData
    from planner.pipeline.searching import SearchOptions
    from planner.search import SearchResult
    from serving_sim.capacity_result import PolicyCapacity

__all__ = ["register", "search"]

Hours = Annotated[
    float | None,
    typer.Option("--hours", help="Hours of training at most, instead of the study's.", show_default="the study's"),
]
Seeds = Annotated[
    int | None,
    typer.Option("--seeds", min=1, help="Seeds from which the front is trained.", show_default="the study's"),
]
WarmStart = Annotated[
    list[Path] | None,
    typer.Option(
        "--warm-start", metavar="DIR", help="An earlier study's OUT, to begin from what it found. Repeatable."
    ),
]
TrialCpus = Annotated[int, typer.Option("--trial-cpus", min=1, help="CPUs of a trial on Ray.")]
TrialGpus = Annotated[
    float,
    typer.Option("--trial-gpus", min=0.0, help="GPUs of a trial, which then trains there; a part of one will do."),
]
Build = Annotated[
    int | None,
    typer.Option(
        "--build", metavar="TRIAL", help="Do not search: train this trial again and leave model, spec and plan in OUT."
    ),
]
Space = Annotated[
    bool, typer.Option("--space", help="Do not search: show what the space offers, why, and how large it is.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(search)


def search(
    study: StudyFile,
    out: Out = None,
    ray: Ray = None,
    trials: Trials = None,
    hours: Hours = None,
    seeds: Seeds = None,
    storage: Storage = None,
    warm_start: WarmStart = None,
    trial_cpus: TrialCpus = 1,
    trial_gpus: TrialGpus = 0.0,
    build: Build = None,
    space: Space = False,
    profiles: Profiles = None,
    allow_stale: AllowStale = False,
    json: Json = False,
) -> None:
    """Search for candidates that nothing beats; resumable."""
    from planner.cli.space import show_space
    from planner.pipeline.run import training_on
    from planner.pipeline.searching import SearchOptions, search_study, search_task
    from planner.search.manifest import compare_manifest
    from planner.search.space_table import size_text

    job = open_job(study, out, profiles, allow_stale=allow_stale)
    data = job.data()
    task = search_task(job.study, data)
    if space:
        show_space(task.space, json=json)
        return
    message(f"search space: {size_text(task.space)}")
    if build is None:
        # Another question's folder should be refused before anything is fitted.
        compare_manifest(job.workspace.search, task)
    cost_model = job.cost_model(data)
    earlier = tuple(folder / "search" if (folder / "search").is_dir() else folder for folder in warm_start or ())
    options = SearchOptions(
        trials=trials,
        hours=hours,
        finalist_seeds=seeds,
        storage=storage,
        warm_start=earlier,
        device="cuda" if trial_gpus else "cpu",
    )
    if build is not None:
        _show_built(_build(job, data, cost_model, options, build), json=json)
        return
    executor = training_on(ray, cpus=trial_cpus, gpus=trial_gpus)
    result = search_study(job.study, data, cost_model, job.workspace, job.progress, executor=executor, options=options)
    _tell(job, data, cost_model, result, study, json=json)


def _tell(
    job: StudyJob, data: "StudyData", cost_model: "CostModel", result: "SearchResult", study: Path, *, json: bool
) -> None:
    """Leave the page, and print what was found."""
    from planner.pipeline.search_report import write_search_page
    from planner.pipeline.simulated_capacity import simulated_capacities

    simulated = simulated_capacities(job.study, data, cost_model, result)
    page = write_search_page(
        job.study,
        cost_model,
        result,
        job.workspace.search,
        study_file=str(study),
        out=str(job.workspace.root),
        simulated=simulated,
    )
    if json:
        capacities = [{"number": number, **one.to_object()} for number, one in simulated.items()]
        print_json({**result.to_object(), "simulated_capacity": capacities, "page": str(page)})
    else:
        _show_search(result, study, job.workspace.root)
        _show_capacities(result, simulated)
        print_lines([f"page: {page}"])


def _build(
    job: StudyJob, data: "StudyData", cost_model: "CostModel", options: "SearchOptions", number: int
) -> "BuiltTrial":
    from planner.pipeline.building import build_trial
    from planner.pipeline.searching import finished_search

    result = finished_search(job.study, data, cost_model, job.workspace, options.storage)
    folder = job.workspace.root / "build" / f"trial-{number}"
    return build_trial(job.study, data, cost_model, result, number, folder, job.progress)


def _show_built(built: "BuiltTrial", *, json: bool) -> None:
    if json:
        print_json(built.to_object())
        return
    metrics = ", ".join(f"{name} {value:.4f}" for name, value in built.metrics.items())
    print_lines([f"{built.name}: {metrics}", f"model: {built.model}", f"spec:  {built.spec}"])
    print_lines([f"plan:  {built.plan or f'none, since {built.why_no_plan}'}"])


def _show_search(result: "SearchResult", study: Path, out: Path) -> None:
    from planner.pipeline.building import rebuild_command
    from planner.report.pareto import objective_title, shown_objective
    from planner.search.front_reasons import front_reasons

    reasons = {one.number: one for one in front_reasons(result)}
    names = tuple(dict.fromkeys((*result.objectives, "auc", "latency_ms", "parameter_bytes")))
    rows = []
    for trial in result.pareto:
        values = (shown_objective(name, trial.value(name, result.latency_device)) for name in names)
        rows.append((str(trial.number), trial.model.name, *values, reasons[trial.number].why))
    if result.screened:
        print_lines([result.screened.text])
    others = [f"{n} {state}" for state in ("stopped", "infeasible", "failed") if (n := result.count(state))]
    counts = f"{len(result.trials)} trials ({', '.join((f'{len(result.feasible)} trained', *others))})"
    counts += f", hypervolume {result.hypervolume:.4f}"
    columns = ("trial", "candidate", *map(objective_title, names), "why it is here")
    print_table(f"Pareto front of {counts}", columns, rows, text_columns=2, folding=(len(columns) - 1,))
    print_lines(_choices(result))
    trades = [(one, reasons[one.number]) for one in result.pareto]
    print_lines(
        f"{trial.model.name} to {why.trade}{'; within the noise of seeds' if why.within_noise else ''}"
        for trial, why in trades
        if why.trade
    )
    if result.pareto:
        print_lines([f"rebuild and train one: {rebuild_command(str(study), result.pareto[0].number, str(out))}"])


def _show_capacities(result: "SearchResult", simulated: Mapping[int, "PolicyCapacity"]) -> None:
    names = {trial.number: trial.model.name for trial in result.pareto}
    print_lines(
        f"{names[number]} serves {one.max_qps:,.0f} queries/s in simulation "
        f"(95 % interval {one.ci_low:,.0f} to {one.ci_high:,.0f})"
        for number, one in simulated.items()
    )


def _choices(result: "SearchResult") -> list[str]:
    """What the members chose, where features chose by groups, as names cannot tell it."""
    from planner.search.choices_text import choices_text

    grouped = [trial for trial in result.pareto if any("." in name for name in trial.choices)]
    return [f"{trial.model.name} is {choices_text(trial.choices)}" for trial in grouped]
