"""The commands that work on a study: `plan`, and its steps `sweep`, `validate` and `map`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from planner.cli.options import Json, Out, Ray, Storage, StudyFile, Trials
from planner.cli.output import message, print_json, print_lines, print_table
from planner.cli.skipped import skipped_lines
from planner.cli.study_job import AllowStale, Profiles, open_job

if TYPE_CHECKING:
    from planner.mapping.algorithm import MappingResult

__all__ = ["map_", "plan", "register", "sweep", "validate"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(plan)
    app.command()(sweep)
    app.command()(validate)
    app.command("map")(map_)


def plan(
    study: StudyFile,
    out: Out = None,
    ray: Ray = None,
    trials: Trials = None,
    storage: Storage = None,
    profiles: Profiles = None,
    allow_stale: AllowStale = False,
    json: Json = False,
) -> None:
    """Do everything a study asks: measure, search, map, simulate, report."""
    from planner.pipeline.run import run_plan
    from planner.pipeline.searching import SearchOptions

    job = open_job(study, out, profiles, allow_stale=allow_stale)
    options = SearchOptions(trials=trials, storage=storage)
    result = run_plan(job.study, job.study_object, job.workspace, job.progress, ray=ray, options=options)
    summary = {
        "report": str(result.report),
        "plan": str(job.workspace.plan_file),
        "answer": result.answer.headline,
        "best_policy": result.serving.best,
        "simulation": result.serving.results[result.serving.best].to_object(),
        "search": result.search.to_object(),
        "validation": result.validation.to_object() if result.validation else None,
        "capacity": result.serving.capacity.to_object(),
    }
    if json:
        print_json(summary)
    else:
        answer = result.answer
        print_lines([answer.headline, *answer.sentences, *answer.changes])
        print_lines([f"report: {result.report}", f"plan:   {job.workspace.plan_file}"])


def sweep(
    study: StudyFile,
    out: Out = None,
    ray: Ray = None,
    profiles: Profiles = None,
    allow_stale: AllowStale = False,
    json: Json = False,
) -> None:
    """Measure the components of a study's candidates on the devices that are here; resumable."""
    from planner.pipeline.measuring import measure_study
    from planner.pipeline.run import measuring_on

    job = open_job(study, out, profiles, allow_stale=allow_stale)
    data = job.data()
    with measuring_on(ray) as executor:
        results = measure_study(job.study, data, job.workspace, job.progress, executor)
    body = {
        kind: {
            "measured": result.measured,
            "reused": result.reused,
            "skipped": [{"component": name, "reason": reason} for name, reason in result.skipped],
        }
        for kind, result in results.items()
    }
    if json:
        print_json({"store": str(job.workspace.profiles), "devices": body})
        return
    rows = [
        (kind, str(result.measured), str(result.reused), str(len(result.skipped))) for kind, result in results.items()
    ]
    print_table(f"Profiles in {job.workspace.profiles}", ("device", "measured", "reused", "skipped"), rows)
    print_lines(skipped_lines(pair for result in results.values() for pair in result.skipped))
    if not results:
        message("none of the study's devices is on this machine; they will be estimated")


def validate(
    study: StudyFile,
    out: Out = None,
    ray: Ray = None,
    profiles: Profiles = None,
    allow_stale: AllowStale = False,
    json: Json = False,
) -> None:
    """Show the cost model's held-out and composed errors beside the noise floor, and leave a page on them in OUT."""
    from planner.cli.validation_tables import show_validation
    from planner.pipeline.modelling import validate_study
    from planner.pipeline.run import measuring_on
    from planner.report import ValidationInputs
    from planner.report.validation_page import build_validation_page
    from profiles.fingerprint import current_fingerprint

    job = open_job(study, out, profiles, allow_stale=allow_stale, fills=False)
    data = job.data()
    cost_model = job.cost_model(data)
    with measuring_on(ray) as executor:
        report = validate_study(job.study, data, job.workspace, cost_model, job.progress, executor, thorough=True)
    facts = (f"{job.study.data.source}", current_fingerprint().processor)
    page = build_validation_page(ValidationInputs.of(report), job.study.name, job.workspace.validation_folder, facts)
    if json:
        print_json({**report.to_object(), "page": str(page)})
    else:
        show_validation(report)
        print_lines([f"page: {page}"])


def map_(
    study: StudyFile,
    out: Out = None,
    storage: Storage = None,
    profiles: Profiles = None,
    allow_stale: AllowStale = False,
    json: Json = False,
) -> None:
    """Map the search's candidates to the study's devices (MP-Rec, Algorithm 1, and exactly); writes plan.json."""
    from planner.pipeline.mapping import map_study
    from planner.pipeline.searching import finished_search
    from profiles.files import make_folder

    job = open_job(study, out, profiles, allow_stale=allow_stale, fills=False)
    data = job.data()
    cost_model = job.cost_model(data)
    found = finished_search(job.study, data, cost_model, job.workspace, storage)
    make_folder(job.workspace.root)
    result = map_study(job.study, data, cost_model, found, job.workspace)
    if json:
        print_json(_mapping_object(result, job.workspace.plan_file))
    else:
        _show_mapping(result, (job.workspace.plan_file, job.workspace.exact_plan_file))


def _mapping_object(result: "MappingResult", file: Path) -> dict[str, Any]:
    decisions = [
        {"device": one.device, "role": one.role, "candidate": one.candidate, "reason": one.reason}
        for one in result.decisions
    ]
    comparison = result.comparison.to_object() if result.comparison else None
    features = result.features.to_object() if result.features else None
    return {"plan": str(file), "decisions": decisions, "comparison": comparison, "features": features}


def _show_mapping(result: "MappingResult", files: tuple[Path, ...]) -> None:
    from planner.mapping.tables import mapping_tables

    for table in mapping_tables(result):
        text = table.text_columns
        print_table(table.title, table.columns, table.rows, text_columns=text, folding=range(text))
        print_lines(table.notes)
    print_lines([f"plan: {file}" for file in files if file.exists()])
