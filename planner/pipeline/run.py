"""The main job: every step in order, each reusing what an earlier run finished."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from planner.cost_model.validation import ValidationReport
from planner.mapping.algorithm import MappingResult
from planner.pipeline.data import load_study_data
from planner.pipeline.mapping import map_study
from planner.pipeline.measuring import measure_study
from planner.pipeline.modelling import fit_cost_model, validate_study
from planner.pipeline.reporting import busiest_path, profile_candidate, report_inputs
from planner.pipeline.searching import SearchOptions, search_study, search_task
from planner.pipeline.serving import Serving, serve_plan
from planner.pipeline.workspace import Workspace
from planner.progress import Progress
from planner.report import Answer, build_report
from planner.report.sections import answer_of
from planner.search import InProcessTrials, SearchResult, Trainer, TrialExecutor
from planner.search.manifest import compare_manifest
from planner.study import Study
from profiles.executors import Executor
from serving_sim.workload import WorkloadStream

__all__ = ["PlanResult", "measuring_on", "run_plan", "training_on"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanResult:
    """What the steps gave; the files lie in the workspace."""

    validation: ValidationReport | None
    search: SearchResult
    mapping: MappingResult
    serving: Serving
    answer: Answer
    report: Path


def run_plan(
    study: Study,
    study_object: Mapping[str, Any],
    workspace: Workspace,
    progress: Progress,
    *,
    ray: str | None = None,
    options: SearchOptions | None = None,
) -> PlanResult:
    """Data, sweep, cost model, search, mapping, simulation, report.

    `ray` is `local` or a cluster's address: measuring and training then run there. `options` are of the search.

    Raises:
        RecplanError: what is wrong with the input, or what could not be done; finished work stays.
    """
    # A trace that cannot be read should not be found out after the training.
    WorkloadStream(study.workload.to_plan(study.folder), (), study.seed)
    with progress.stage(f"reading {study.data.source}"):
        data = load_study_data(study)
    # A folder that holds another question's search should not be found out after the measuring.
    compare_manifest(workspace.search, search_task(study, data))
    with measuring_on(ray) as executor:
        measure_study(study, data, workspace, progress, executor)
        with progress.stage("fitting the cost model"):
            cost_model = fit_cost_model(study, data, workspace)
        validation = None
        if any(device.hardware.is_local for device in study.devices):
            validation = validate_study(study, data, workspace, cost_model, progress, executor)
    search = search_study(study, data, cost_model, workspace, progress, executor=training_on(ray), options=options)
    mapping = map_study(study, data, cost_model, search, workspace)
    serving = serve_plan(mapping.plan, progress)
    # The plan carries the policy that the report recommends, so that its figures can be had again from the file.
    mapping = replace(mapping, plan=replace(mapping.plan, policy=serving.policy))
    mapping.plan.save(workspace.plan_file)
    with progress.stage("profiling the chosen model"):
        profile = profile_candidate(study, data, busiest_path(mapping.plan, serving))
    with progress.stage("writing the report"):
        inputs = report_inputs(
            study,
            study_object,
            data,
            cost_model=cost_model,
            validation=validation,
            search=search,
            mapping=mapping,
            serving=serving,
            profile=profile.rows,
        )
        report = build_report(inputs, workspace.root)
    return PlanResult(
        validation=validation,
        search=search,
        mapping=mapping,
        serving=serving,
        answer=answer_of(inputs),
        report=report,
    )


@contextmanager
def measuring_on(ray: str | None) -> Iterator[Executor | None]:
    """Where to measure: in this process (None), or on Ray at that address."""
    if ray is None:
        yield None
        return
    from profiles.executors import RayExecutor

    with RayExecutor(ray) as executor:
        yield executor


def training_on(ray: str | None, *, cpus: int = 1, gpus: float = 0.0) -> Callable[[Trainer], TrialExecutor]:
    """Where to train: in this process, or on Ray at that address, with so many CPUs and GPUs for each trial."""
    if ray is None:
        return InProcessTrials
    from planner.search import RayTrials

    return partial(RayTrials, address=ray, cpus_per_trial=cpus, gpus_per_trial=gpus)
