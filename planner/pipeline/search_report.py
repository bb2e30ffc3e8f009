"""A search as the report takes it, and its page."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from planner.cost_model.composition import CostModel
from planner.pipeline.building import rebuild_command
from planner.report import SearchInputs
from planner.report.search_page import build_search_page
from planner.search import SearchResult, TrialRecord
from planner.search.choices_text import choices_text
from planner.search.forecasts import forecast_frame
from planner.search.front_reasons import front_reasons
from planner.search.importances import importances_frame
from planner.search.objective_charts import parallel_frame
from planner.search.volume import volume_frame
from planner.study import Study
from serving_sim.capacity_result import PolicyCapacity

__all__ = ["search_inputs", "write_search_page"]


def write_search_page(
    study: Study,
    cost_model: CostModel,
    search: SearchResult,
    folder: Path,
    *,
    study_file: str,
    out: str,
    simulated: Mapping[int, PolicyCapacity],
) -> Path:
    """Leave the search's page, frames and charts in a folder; returns the page's path.

    `simulated` are capacities of members of the front, by number.

    Raises:
        StorageError: a file cannot be written.
    """
    inputs = search_inputs(study, cost_model, search, study_file=study_file, out=out)
    rows = tuple({**row, **_simulated(simulated.get(row["number"]))} for row in inputs.trials)
    inputs = replace(inputs, trials=rows)
    return build_search_page(inputs, study.name, folder, (study.data.source,))


def search_inputs(
    study: Study,
    cost_model: CostModel,
    search: SearchResult,
    chosen: str = "",
    *,
    study_file: str = "STUDY",
    out: str = "OUT",
) -> SearchInputs:
    """The search's part of the report; `chosen` is the candidate whose components are shown.

    `study_file` and `out` are those of the command that rebuilds a trial.
    """
    front = {trial.number for trial in search.pareto}
    device = study.latency_device
    grades = {name: model.provenance for name, model in cost_model.models.items()}
    return SearchInputs(
        trials=tuple(_trial(trial, device, grades, pareto=trial.number in front) for trial in search.trials),
        objectives=search.objectives,
        constraints=dict(study.search.limits),
        latency_device=device,
        latency_batch=study.latency_batch,
        hypervolume=search.hypervolume,
        chosen=next((trial.number for trial in search.trials if trial.model.name == chosen), None),
        volume=tuple(volume_frame(search).to_dicts()),
        forecasts=tuple(forecast_frame(search).to_dicts()),
        importances=tuple(importances_frame(search).to_dicts()),
        parallel=tuple(parallel_frame(search).to_dicts()),
        reasons=tuple(asdict(one) for one in front_reasons(search)),
        rebuild=rebuild_command(study_file, search.pareto[0].number, out) if search.pareto else "",
        screened=search.screened.text if search.screened else "",
    )


def _simulated(capacity: PolicyCapacity | None) -> dict[str, float]:
    if capacity is None:
        return {}
    return {"simulated_qps": capacity.max_qps, "simulated_low": capacity.ci_low, "simulated_high": capacity.ci_high}


def _trial(trial: TrialRecord, device: str, grades: Mapping[str, str], *, pareto: bool) -> dict[str, Any]:
    """A row; costs are those where the trial is judged, on its own device where it chose one."""
    by_groups = any("." in name for name in trial.choices)
    return {
        "number": trial.number,
        "name": trial.model.name,
        "state": trial.state,
        "representation": trial.choices.get("representation", trial.model.representation),
        "accuracy": trial.accuracy,
        "auc": trial.auc,
        "log_loss": trial.log_loss,
        "test_auc": trial.test.get("auc"),
        "test_accuracy": trial.test.get("accuracy"),
        "parameter_bytes": trial.parameter_bytes,
        "flops": trial.flops,
        **trial.costs,
        "latency_ms": trial.value("latency_ms", device),
        "feasible": trial.feasible,
        "pareto": pareto,
        "provenance": grades[str(trial.choices.get("device", device))],
        "reason": trial.reason,
        "train_seconds": trial.train_seconds,
        "description": choices_text(trial.choices) if by_groups else None,
        **{name: value for name, value in trial.choices.items() if name != "representation"},
    }
