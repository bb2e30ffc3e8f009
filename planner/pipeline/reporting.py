"""Gather what the steps found into the report's inputs."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from planner.cost_model.composition import CostModel
from planner.cost_model.validation import ValidationReport
from planner.cost_model.whole_models import WholeModelProvider
from planner.mapping.algorithm import MappingResult
from planner.mapping.decision import Decision
from planner.mapping.tables import mapping_tables
from planner.pipeline.data import StudyData
from planner.pipeline.search_report import search_inputs
from planner.pipeline.serving import Serving
from planner.report import MappingInputs, ReportInputs, ValidationInputs
from planner.search import SearchResult
from planner.study import Study
from profiles.fingerprint import current_fingerprint
from profiles.hardware import LOCAL_CPU
from profiles.records import ComponentProfile
from profiles.units import format_bytes
from representations.specs import ModelSpec, model_from_object
from serving_sim.plan import Path, Plan

if TYPE_CHECKING:
    from profiles.model_profile import ModelProfile

__all__ = ["busiest_path", "profile_candidate", "report_inputs"]


def busiest_path(plan: Plan, serving: Serving) -> Path:
    """The path that the best policy sends most queries down."""
    share = serving.results[serving.best].path_share
    return max(plan.paths, key=lambda path: share[path.name])


def profile_candidate(study: Study, data: StudyData, path: Path) -> "ModelProfile":
    """The path's model profiled module by module on this machine, for one query of the mean size."""
    from profiles.profile_options import ProfileOptions
    from profiles.walk import profile_model

    if path.model is None:
        raise ValueError(path.name)
    spec: ModelSpec = model_from_object(path.model)
    provider = WholeModelProvider(specs=(spec,), zipf=data.zipf)
    built = provider.build(provider.component(spec, study.latency_batch), study.seed)
    options = ProfileOptions(threads=study.sweep.threads)
    return profile_model(built.module.eval(), built.args, options=options)


def report_inputs(
    study: Study,
    study_object: Mapping[str, Any],
    data: StudyData,
    *,
    cost_model: CostModel,
    validation: ValidationReport | None,
    search: SearchResult,
    mapping: MappingResult,
    serving: Serving,
    profile: tuple[ComponentProfile, ...],
) -> ReportInputs:
    """Everything on the page, as plain data."""
    chosen = busiest_path(mapping.plan, serving).candidate
    return ReportInputs(
        name=study.name,
        created=date.today().isoformat(),  # noqa: DTZ011 (the reader's date)
        study=study_object,
        fingerprint=current_fingerprint(LOCAL_CPU, study.sweep.threads),
        data=_data_line(study, data),
        constant_accuracy=_constant_accuracy(data),
        seeds={"study": study.seed, "simulation": mapping.plan.seed},
        notes=data.notes,
        plan=mapping.plan.to_object(),
        profile=profile,
        validation=ValidationInputs.of(validation) if validation else None,
        search=search_inputs(study, cost_model, search, chosen),
        mapping=MappingInputs(
            decisions=tuple(_decision(one, search) for one in mapping.decisions),
            tables=tuple(asdict(table) for table in mapping_tables(mapping)[1:]),
        ),
        serving=serving.to_inputs(),
    )


def _data_line(study: Study, data: StudyData) -> str:
    parts = data.splits
    rows = len(parts.train) + len(parts.validation) + len(parts.test)
    return (
        f"{study.data.source}: {rows:,} rows ({len(parts.train):,} to train, {len(parts.test):,} to test, "
        f"{parts.kind} split), {len(data.features)} categorical and {data.dense_features} dense features"
    )


def _constant_accuracy(data: StudyData) -> float:
    positive = data.splits.test.positive_rate
    return max(positive, 1 - positive)


def _decision(one: Decision, search: SearchResult) -> dict[str, Any]:
    model = next((trial.model for trial in search.trials if trial.model.name == one.candidate), None)
    return {
        **asdict(one),
        "step": one.role,
        "kept": one.candidate is not None,
        "representation": model.representation if model else None,
        "parameter_bytes": model.parameter_bytes if model else None,
        "parameters": format_bytes(model.parameter_bytes) if model else None,
    }
