"""How far the cost model's predictions are from measurements, beside the noise of the measurements."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from planner.cost_model.composition import CostModel
from planner.cost_model.model import FittedDeviceModel
from planner.pipeline.data import StudyData, load_study_data
from planner.pipeline.measuring import MODEL_BATCHES, measure_study
from planner.pipeline.modelling import fit_cost_model, validate_study
from planner.pipeline.sweeping import candidate_models
from planner.pipeline.workspace import open_workspace
from planner.progress import QuietProgress
from planner.study import Study, load_study
from profiles.hardware import LOCAL_CPU
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.markdown import bullets, percent, significant, table
from tests.benchmarks.rivals.latency_models import held_out_errors
from tests.benchmarks.timing import Alternative, interleave, rates

__all__ = ["BENCHMARK", "figures_of"]

_STUDY = Path(__file__).parent.parent.parent / "docs" / "examples" / "quickstart.toml"
_INTRODUCTION = """\
The components of the quickstart study's candidates, measured on this machine with one thread into a store of their own,
and eight whole models beside. A component is predicted by models that never saw its shape (five folds)."""
_MEANING = """\
- **noise floor**: how far a second measurement of the same components is from the first. No model can be held to less;
  where the floor is high the machine was unquiet, and the errors below it say little of the model.
- **MAPE**, **p90**, **within 10 %**: mean and 90th percentile of the relative error, share of rows within 10 %.
- **roofline**, **boosting**: simpler models on the same rows and folds: the physical part of the cost model alone, and
  boosted trees on the logs of shape and work alone.
- **whole models, sum**: each predicted as the plain sum of its components, held out; **in context**: corrected by what
  the other whole models teach. Kendall's tau is of the order of models at equal batch.
- **predictions per second**: whole models at one batch each, per second of CPU time.
- Not measured yet: `extrapolation`, `skewed_ids_mape`, `points_for_10_percent`."""

_QUIET_FLOOR = 0.05
_REFERENCE = (
    "Reference: measured on a quiet machine (noise floor 2.0 % median, 5.1 % p90), a roofline with a learned residual "
    "was off by 3.6 to 5.6 % (MAPE), boosted trees by 5.6 to 8.1 %, a roofline alone by 11 to 22 %."
)
_UNQUIET = (
    "That goal cannot be judged from this run: its noise floor is {floor} (median), too high for errors of that size "
    "to show. Whole models are measured after the components, so that a machine that slows down in between "
    "shows as bias."
)


def _measure(quick: bool) -> Figures:
    study = load_study(_STUDY)
    if quick:
        study = replace(study, sweep=replace(study.sweep, components=100))
    return figures_of(study, predictions=1 if quick else 7)


def figures_of(study: Study, predictions: int) -> Figures:
    """Sweep the study into a temporary folder, fit, validate, and time whole-model predictions so many times."""
    data = load_study_data(study)
    progress = QuietProgress()
    with TemporaryDirectory() as folder:
        workspace = open_workspace(Path(folder))
        measured = measure_study(study, data, workspace, progress)
        cost_model = fit_cost_model(study, data, workspace)
        report = validate_study(study, data, workspace, cost_model, progress)
    device = next(one.name for one in study.devices if one.kind == LOCAL_CPU)
    model = cost_model.models[device]
    return {
        "components_measured": measured[LOCAL_CPU].measured,
        **report.to_object(),
        "rivals": held_out_errors(model, study.seed) if isinstance(model, FittedDeviceModel) else [],
        "whole_model_predictions_per_s": _predictions_per_s(study, data, cost_model, device, predictions),
    }


def _predictions_per_s(study: Study, data: StudyData, cost_model: CostModel, device: str, rounds: int) -> float:
    specs = candidate_models(study, data)

    def predict() -> None:
        for spec in specs:
            cost_model.predict_model(spec, MODEL_BATCHES, device, data.zipf)

    timed = {"predict": Alternative(call=predict, units=len(specs) * len(MODEL_BATCHES))}
    return rates(interleave(timed, rounds)["predict"]).median


def _describe(report: Mapping[str, Any]) -> list[str]:
    floor = report["noise_floor"]
    coverage = report["interval_coverage_90"]
    facts = [
        f"{report['components_measured']} components measured.",
        f"Noise floor: median {percent(floor['median'])}, p90 {percent(floor['p90'])} ({floor['source']}).",
        f"90 % intervals cover {percent(coverage)} of the held-out rows." if coverage is not None else "",
        f"Predictions per second: {significant(report['whole_model_predictions_per_s'])}.",
    ]
    return [
        _INTRODUCTION,
        " ".join(fact for fact in facts if fact),
        "## Held-out error by kind",
        table(("kind", "rows", "MAPE", "p90", "within 10 %", *_RIVAL_COLUMNS), _kind_rows(report)),
        "## Whole models",
        table(("composition", "rows", "MAPE", "p90", "within 10 %", "bias", "Kendall's tau"), _whole_rows(report)),
        "## What the figures mean",
        _MEANING,
        "## Remarks",
        _remarks(report),
    ]


def _remarks(report: Mapping[str, Any]) -> str:
    rows = {row["kind"]: row for row in report["components"]}
    beaten = [
        f"{rival['model']} on {rival['kind']} ({percent(rival['mape'])} against {percent(rows[rival['kind']]['mape'])})"
        for rival in report["rivals"]
        if rival["mape"] < rows[rival["kind"]]["mape"]
    ]
    better = f"Better than the cost model here: {', '.join(beaten)}." if beaten else "No simpler model was better."
    floor = report["noise_floor"]["median"]
    quiet = [_UNQUIET.format(floor=percent(floor))] if floor > _QUIET_FLOOR else []
    return bullets([_REFERENCE, *quiet, better])


_RIVAL_COLUMNS = ("roofline MAPE", "boosting MAPE")


def _kind_rows(report: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rivals = {(row["model"], row["kind"]): row["mape"] for row in report["rivals"]}
    return [
        (
            row["kind"],
            str(row["rows"]),
            *_errors(row),
            *(percent(rivals[name, row["kind"]]) for name in ("roofline", "boosting")),
        )
        for row in report["components"]
    ]


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
