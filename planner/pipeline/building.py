"""One trial of a search rebuilt: trained again as the search trained it, and left as files that serve it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from planner.cost_model.composition import CostModel
from planner.pipeline.data import StudyData
from planner.pipeline.mapping import map_study
from planner.pipeline.searching import search_task, served_model, training_config
from planner.pipeline.workspace import Workspace
from planner.progress import Progress
from planner.search import SearchResult, TrialRecord
from planner.study import Study
from profiles.errors import InfeasibleError, InputError
from profiles.files import make_folder, replace_file
from representations.model_file import save_model
from representations.tables.quantise import trainable_spec
from representations.training import train
from representations.training_config import TrainingProgress

__all__ = ["BuiltTrial", "build_trial", "rebuild_command"]

MODEL, SPEC, PLAN = "model.safetensors", "model.json", "plan.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltTrial:
    """The files: weights and spec, the spec alone, and the plan that serves it (None where `why_no_plan` says why).

    `metrics` are of this training's validation and test rows.
    """

    number: int
    name: str
    model: Path
    spec: Path
    plan: Path | None
    why_no_plan: str
    metrics: Mapping[str, float]

    def to_object(self) -> dict[str, Any]:
        """The keys that `recplan search --build --json` prints."""
        return {
            "number": self.number,
            "name": self.name,
            "model": str(self.model),
            "spec": str(self.spec),
            "plan": str(self.plan) if self.plan else None,
            "why_no_plan": self.why_no_plan,
            "metrics": dict(self.metrics),
        }


def rebuild_command(study_file: str, number: int, out: str) -> str:
    """The line that rebuilds and trains a trial."""
    return f"recplan search {study_file} --out {out} --build {number}"


def build_trial(
    study: Study,
    data: StudyData,
    cost_model: CostModel,
    result: SearchResult,
    number: int,
    folder: Path,
    progress: Progress,
) -> BuiltTrial:
    """Train the trial's candidate from the search's seed and write its files into `folder`.

    On one thread, as searches train, the model is the very one that the trial judged.

    Raises:
        InputError: no such trial, or one that the search found infeasible.
        MeasurementError: its loss is no longer finite.
    """
    trial = _trial(result, number)
    config = training_config(study.search.training, search_task(study, data).training_seed)
    make_folder(folder)
    with progress.stage(f"training {trial.model.name}") as stage:

        def tell(now: TrainingProgress) -> None:
            stage.update(now.step, now.steps, f"loss {now.loss:.4f}")

        trained = train(trainable_spec(trial.model), data.splits, config, progress=tell)
    served, validation, test = served_model(trained, trial.model, data.splits)
    model = save_model(served, folder / MODEL)
    spec = replace_file(folder / SPEC, json.dumps(trial.model.to_object(), indent=1))
    scored = replace(
        trial,
        state="complete",
        **asdict(validation),
        test=asdict(test),
    )
    plan, why_no_plan = _plan(study, data, cost_model, replace(result, trials=(scored,)), folder)
    return BuiltTrial(
        number=number,
        name=trial.model.name,
        model=model,
        spec=spec,
        plan=plan,
        why_no_plan=why_no_plan,
        metrics={
            **{name: scored.value(name, "") for name in ("auc", "log_loss", "accuracy")},
            **{f"test_{name}": value for name, value in scored.test.items()},
        },
    )


def _trial(result: SearchResult, number: int) -> TrialRecord:
    trial = next((one for one in result.trials if one.number == number), None)
    if trial is None:
        known = ", ".join(str(one.number) for one in result.pareto)
        raise InputError(f"--build {number}: the search has no such trial; those on the front are {known or 'none'}")
    if trial.state == "infeasible":
        raise InputError(f"--build {number}: {trial.model.name} breaks the limits: {trial.reason}")
    return trial


def _plan(
    study: Study, data: StudyData, cost_model: CostModel, result: SearchResult, folder: Path
) -> tuple[Path | None, str]:
    """The plan of this candidate alone; none where it fits no device."""
    try:
        map_study(study, data, cost_model, result, Workspace(folder))
    except InfeasibleError as error:
        return None, str(error)
    return folder / PLAN, ""
