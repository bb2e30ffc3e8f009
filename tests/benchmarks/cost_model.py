"""How far the cost model's predictions are from measurements, beside the noise of the measurements."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from planner.cost_model.accuracy import pairs_in_order
from planner.cost_model.batch_prediction import CandidatePredictor
from planner.cost_model.candidates import candidates_of
from planner.cost_model.composition import CostModel
from planner.cost_model.model import FittedDeviceModel, fit_device_model
from planner.cost_model.training_rows import WHOLE_MODEL
from planner.cost_model.validation import ValidationReport
from planner.pipeline.data import StudyData, load_study_data
from planner.pipeline.measuring import MODEL_BATCHES
from planner.pipeline.modelling import fit_cost_model, validate_study
from planner.pipeline.sweeping import candidate_models, sweep_options
from planner.pipeline.workspace import open_workspace
from planner.progress import QuietProgress
from planner.study import Study, load_study
from profiles.hardware import LOCAL_CPU
from profiles.store import ProfileStore
from profiles.sweep_options import SweepOptions
from representations.components import work_of
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.cost_model_goals import goal_rows
from tests.benchmarks.cost_model_sweep import log_errors, measure_with_design
from tests.benchmarks.markdown import bullets, percent, significant, table
from tests.benchmarks.rivals.latency_models import held_out_errors
from tests.benchmarks.settled_rows import settled_errors, settled_text
from tests.benchmarks.timing import Alternative, interleave, rates, spread_of

__all__ = ["BENCHMARK", "figures_of"]

_STUDY = Path(__file__).parent.parent.parent / "docs" / "examples" / "quickstart.toml"
_INTRODUCTION = """\
The components of the quickstart study's candidates, measured on this machine with one thread into a store of their own,
in one sweep with a fixed space-filling design of six kinds of components and with whole models of each representation.
All are visited in turn until twice as many visits as a study's were made while the core was quiet, as far as patience
goes (docs/measuring.md); whole models, which are few, three times as often. A component is predicted by models that
never saw its shape (five folds). The forms of the model were chosen on earlier runs; all rows were measured anew."""
_MEANING = """\
- **noise floor**: how far a second measurement of the same components is from the first. No model can be held to less;
  where the floor is high the machine was unquiet, and the errors below it say little of the model.
- **MAPE**, **p90**, **within 10 %**: mean and 90th percentile of the relative error, share of rows within 10 %.
- **roofline**, **boosting**: simpler models on the same rows and folds: the physical part of the cost model alone, and
  boosted trees on the logs of shape and work alone.
- **whole models, sum**: each predicted as the plain sum of its components, held out; **in context**: corrected by what
  the other whole models teach. Kendall's tau is of the order of models at equal batch.
- **paired floor**: visits alternate between two halves, each labelled by the sweep's own rule; how far these are apart,
  and how far they order models alike. A label rests on both halves: where these err independently, it is about half as
  far from the truth as they are from one another, and so would a perfect model be from it.
- **4x beyond**: trained on rows of up to a quarter of a family's largest work, asked for those above.
- **unseen exponents**: each Zipf exponent but the uniform in turn, from rows of the others; **the Scarab log**:
  look-ups of its ids in their order, asked by the exponent by which its batches are as distinct.
- **points for 10 % error**: median of three nested orders of points, held out by shape; worst family of the kind.
- **predictions per second**: whole models at one batch each, per second of CPU time, each distinct part priced once.
- Whole models at small batches and their order within a batch are held to goals that a quiet machine can show: where
  halves of a label differ by 4 %, an error of 2 % cannot be told from none, nor the order of models that are alike."""

_CANDIDATES = 100_000
_STUDY_COMPONENTS = 300
_PER_KIND = 300
_WHOLE_MODELS = 3
_PATIENCE = 2.0
_QUIET_FLOOR = 0.03
_REFERENCE = (
    "Reference: measured on a quiet machine (noise floor 2.0 % median, 5.1 % p90), a roofline with a learned residual "
    "was off by 3.6 to 5.6 % (MAPE), boosted trees by 5.6 to 8.1 %, a roofline alone by 11 to 22 %."
)
_EARLIER = (
    "Earlier runs, whose pages this one replaces. A Xeon in a calm spell, batches to 2048: components 3.6 %, p90 8.0 "
    "%, 93.7 % within 10 %; whole models 3.3 %, tau 0.909, batches <= 16 2.6 %; the Scarab log 8.1 %. An EPYC, batches "
    "to 4096: components 4.0 %, p90 8.4 %, 92.5 % within 10 %; whole models 4.5 % (5.7 % without the reuse distance "
    "of code, which was chosen on that run), tau 0.945, batches <= 16 3.2 %; the Scarab log 6.3 %."
)
_UNQUIET = (
    "The machine was not quiet: halves of the visits differ by {floor} (mean), so that a perfect model of components "
    "would be off by about half of that, and by more where spells outlast a sweep."
)


def _measure(quick: bool) -> Figures:
    study = load_study(_STUDY)
    if quick:
        hasty = replace(study, sweep=replace(study.sweep, components=20, milliseconds_per_visit=1, whole_models=1))
        options = replace(sweep_options(hasty), patience=0.5, most_visits=hasty.sweep.visits)
        return figures_of(hasty, predictions=1, per_kind=8, logged=4, options=options)
    full = replace(study, sweep=replace(study.sweep, components=_STUDY_COMPONENTS, whole_models=_WHOLE_MODELS))
    # Waiting for a quiet core must not outlast measuring many times over.
    options = replace(sweep_options(full), patience=_PATIENCE)
    return figures_of(full, predictions=7, per_kind=_PER_KIND, logged=40, options=options)


def figures_of(
    study: Study, predictions: int, *, per_kind: int = 20, logged: int = 4, options: SweepOptions | None = None
) -> Figures:
    """Sweep the study and the design into a temporary folder, fit, validate, and time predictions so many times.

    `options` are the study's own by default.
    """
    data, options = load_study_data(study), options or sweep_options(study)
    progress = QuietProgress()
    with TemporaryDirectory() as folder:
        workspace = open_workspace(Path(folder) / "study")
        designed = measure_with_design(study, data, workspace.profiles, per_kind, options)
        ProfileStore(workspace.profiles).compact()
        cost_model = fit_cost_model(study, data, workspace)
        report = validate_study(study, data, workspace, cost_model, progress, thorough=True)
        fitted = next(model for model in cost_model.models.values() if isinstance(model, FittedDeviceModel))
        of_log = log_errors(fitted, Path(folder) / "log", logged, options)
        settled = settled_errors(fitted, ProfileStore(workspace.profiles).load(), options.agreement or 0.0)
        fit_s = _fit_s(workspace.profiles)
    device = next(one.name for one in study.devices if one.kind == LOCAL_CPU)
    model = cost_model.models[device]
    return {
        "components_measured": designed["points"],
        "paired_noise_floor": designed,
        **report.to_object(),
        "models_apart": _models_apart(report, designed["models"]["p90"]),
        "settled_rows": settled,
        "logged_ids": of_log,
        "fit_s": fit_s,
        "rivals": held_out_errors(model, study.seed) if isinstance(model, FittedDeviceModel) else [],
        "whole_model_predictions_per_s": _predictions_per_s(study, data, cost_model, device, predictions),
    }


def _models_apart(report: ValidationReport, apart: float | None) -> Figures:
    """The order of those pairs of whole models that are farther apart than their labels are sure."""
    models = report.points.filter(report.points["kind"] == WHOLE_MODEL)
    columns = (models["measured_ms"].to_numpy(), models["predicted_ms"].to_numpy())
    count = len(models)
    pairs, share = pairs_in_order(models["batch"].to_list(), *columns, apart=apart or 0.0)
    return {"pairs": pairs, "in_order": share, "apart": apart or 0.0, "models": count}


def _fit_s(directory: Path) -> float:
    """CPU seconds of a fit of all rows, folds included."""
    rows = ProfileStore(directory).load()
    timed = {"fit": Alternative(call=lambda: tuple(fit_device_model(rows, work_of).families.values()))}
    return spread_of(interleave(timed, 1)["fit"]).median


def _predictions_per_s(study: Study, data: StudyData, cost_model: CostModel, device: str, rounds: int) -> float:
    """Whole models per second: the study's candidates over and over, after the first time that prices their parts."""
    few = candidates_of(candidate_models(study, data))
    times = max(1, _CANDIDATES // len(few))
    many = replace(few, embedding_NF=np.tile(few.embedding_NF, (times, 1)), dense_N=np.tile(few.dense_N, times))
    predictor = CandidatePredictor(cost_model, device, MODEL_BATCHES[-1], data.zipf)
    timed = {"predict": Alternative(call=lambda: predictor.predict(many), units=len(many))}
    return rates(interleave(timed, rounds)["predict"]).median


def _describe(report: Mapping[str, Any]) -> list[str]:
    floor = report["noise_floor"]
    coverage = report["interval_coverage_90"]
    facts = [
        f"{report['components_measured']} components measured.",
        f"Noise floor: median {percent(floor['median'])}, p90 {percent(floor['p90'])} ({floor['source']}).",
        *(f"Paired floor of {name}: {_paired(report, name)}." for name in ("components", "models")),
        f"90 % intervals cover {percent(coverage)} of the held-out rows." if coverage is not None else "",
        f"Predictions per second: {significant(report['whole_model_predictions_per_s'])}.",
    ]
    return [
        _INTRODUCTION,
        " ".join(fact for fact in facts if fact),
        "## Goals",
        table(("what, held out", "goal", "measured", "verdict"), goal_rows(report)),
        "## Held-out error by kind",
        table(("kind", "rows", "MAPE", "p90", "within 10 %", *_FLOOR_COLUMNS, *_RIVAL_COLUMNS), _kind_rows(report)),
        settled_text(report["settled_rows"]) if "settled_rows" in report else "",
        "## Whole models",
        table(("composition", "rows", "MAPE", "p90", "within 10 %", "bias", "Kendall's tau"), _whole_rows(report)),
        table(("batch", "rows", "MAPE in context", *_FLOOR_COLUMNS), _batch_rows(report)),
        _order(report),
        "## What the figures mean",
        _MEANING,
        "## Remarks",
        _remarks(report),
    ]


def _order(report: Mapping[str, Any]) -> str:
    found = report.get("models_apart", {})
    if found.get("in_order") is None:
        return "No two models at one batch are farther apart than their labels are sure."
    share = found["in_order"]
    return (
        f"Of the {found['pairs']} pairs of models at one batch that were measured more than {percent(found['apart'])} "
        f"apart (the paired floor's p90), predictions put {percent(share)} in the same order, a tau of "
        f"{significant(2 * share - 1)}; the order of closer ones is that of the noise."
    )


def _paired(report: Mapping[str, Any], name: str) -> str:
    floor = report.get("paired_noise_floor", {}).get(name)
    if not floor:
        return "not measured"
    unsettled = f"{percent(floor['unsettled'])} of {floor['rows']} not agreed after {floor['visits']:.1f} visits (mean)"
    tau = f", Kendall's tau {significant(floor['kendall_tau'])}" if name == "models" and floor["kendall_tau"] else ""
    errors = f"median {percent(floor['median'])}, mean {percent(floor['mean'])}, p90 {percent(floor['p90'])}"
    return f"{errors}{tau}; {unsettled}"


def _remarks(report: Mapping[str, Any]) -> str:
    rows = {row["kind"]: row for row in report["components"]}
    beaten = [
        f"{rival['model']} on {rival['kind']} ({percent(rival['mape'])} against {percent(rows[rival['kind']]['mape'])})"
        for rival in report["rivals"]
        if rival["mape"] < rows[rival["kind"]]["mape"]
    ]
    better = f"Better than the cost model here: {', '.join(beaten)}." if beaten else "No simpler model was better."
    floor = report.get("paired_noise_floor", {}).get("components", report["noise_floor"])["mean"]
    quiet = [_UNQUIET.format(floor=percent(floor))] if floor > _QUIET_FLOOR else []
    return bullets([_REFERENCE, _EARLIER, *quiet, better])


_RIVAL_COLUMNS = ("roofline MAPE", "boosting MAPE")
_FLOOR_COLUMNS = ("paired floor", "its p90")


def _kind_rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rivals = {(row["model"], row["kind"]): row["mape"] for row in report["rivals"]}
    return [
        (
            row["kind"],
            str(row["rows"]),
            *_errors(row),
            *_floor_of(report, "kind", row["kind"]),
            *(percent(rivals[name, row["kind"]]) for name in ("roofline", "boosting")),
        )
        for row in report["components"]
    ]


def _batch_rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (str(row["batch"]), str(row["rows"]), percent(row["mape"]), *_floor_of(report, "batch", row["batch"]))
        for row in report["by_batch"]
        if row["kind"] == WHOLE_MODEL
    ]


def _floor_of(report: Mapping[str, Any], name: str, value: object) -> tuple[str, str]:
    floors = {row[name]: row for row in report.get("paired_noise_floor", {}).get(f"by_{name}", ())}
    return (percent(floors[value]["mean"]), percent(floors[value]["p90"])) if value in floors else ("-", "-")


def _whole_rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    named = (("sum", report["composed_sum"]), ("in context", report["composed"]))
    return [
        (name, str(row["rows"]), *_errors(row), f"{row['bias']:+.1%}", significant(row["kendall_tau"]))
        for name, row in named
        if row["rows"] and row["kendall_tau"] is not None
    ]


def _errors(row: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(percent(row[name]) for name in ("mape", "p90", "within_10"))


BENCHMARK = Benchmark(name="cost_model", title="Error of the cost model", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
