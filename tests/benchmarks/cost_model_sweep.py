"""What the cost model's benchmark measures: a space-filling design per kind beside a study, and ids of a real log."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.cost_model.accuracy import rank_agreement, summarise_errors
from planner.cost_model.estimates import Floats
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.noise import paired_floor, paired_labels
from planner.cost_model.training_rows import WHOLE_MODEL
from planner.cost_model.whole_models import WithWholeModels
from planner.pipeline.data import StudyData
from planner.pipeline.measuring import MODEL_BATCHES, whole_models_of
from planner.pipeline.sweeping import candidate_models, study_components
from planner.study import Study
from profiles.agreement import VISITS_APART
from profiles.component import Component, make_component
from profiles.records import ComponentProfile
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from representations.datasets.access_log import SCARAB
from representations.logged_ids import with_logged_ids, without_log
from representations.provider import RecommendationProvider
from tests.benchmarks.space_filling import DESIGNS, design

__all__ = ["log_errors", "measure_with_design"]

_LOG_ROWS = 258_368
# Large groups lie in memory at once, so that rounds of visits take as long as slow spells of the machine.
_GROUP_BYTES = 6 * 10**9
# Whole models' visits and seconds of calls, times those of components.
_MODEL_VISITS, _MODEL_SECONDS = 3, 2.0


def measure_with_design(
    study: Study, data: StudyData, directory: Path, per_kind: int, options: SweepOptions
) -> dict[str, Any]:
    """Measure the design, the study's components and its whole models in one sweep, so that all share what slows it.

    Components are visited twice as often as `options` want, so that every other visit may be held against the rest:
    the noise floors are of such halves, each labelled as these would have. Whole models are visited again afterwards.
    """
    models = whole_models_of(study, data)
    components = [
        *(component for kind in DESIGNS for component in design(kind, per_kind, seed=study.seed)),
        *study_components(candidate_models(study, data), study.sweep, data.zipf),
        *models.components(MODEL_BATCHES),
    ]
    paired = replace(options, visits=2 * options.visits, most_visits=2 * options.most_visits, group_bytes=_GROUP_BYTES)
    store = ProfileStore(directory)
    provider = WithWholeModels(parts=RecommendationProvider(), models=models)
    result = sweep(components, provider, store, options=paired)
    sweep(models.components(MODEL_BATCHES), provider, store, options=_for_few(paired))
    rows = store.load()
    return {
        "points": result.measured,
        "seconds": result.seconds,
        "components": _floor(store, rows, options, are_models=False),
        "models": _floor(store, rows, options, are_models=True),
        **_floors_within(store, rows, options),
    }


def _for_few(options: SweepOptions) -> SweepOptions:
    """Whole models are few and near each other: their order asks for surer labels than components need."""
    return replace(
        options,
        visits=_MODEL_VISITS * options.visits,
        most_visits=_MODEL_VISITS * options.most_visits,
        most_call_seconds=_MODEL_SECONDS * options.most_call_seconds,
    )


def _floor(
    store: ProfileStore, rows: Iterable[ComponentProfile], options: SweepOptions, *, are_models: bool
) -> dict[str, float | None]:
    """Of alternate visits; `unsettled` is the share of rows whose two fastest visits disagree, `visits` the mean.

    `kendall_tau` is of the order of rows at equal batch, as the two halves have it; it says something of models only.
    """
    own = {row.content_hash: row for row in rows if (row.kind == WHOLE_MODEL) is are_models and row.warm}
    visits = [visit for visit in store.visits() if visit.content_hash in own]
    floor, labels = paired_floor(visits, options), paired_labels(visits, options)
    first, second = np.array(list(labels.values())).T
    tau = rank_agreement([own[name].batch for name in labels], first, second)
    apart = np.array([row.figures.get(VISITS_APART) or 0.0 for row in own.values()])
    return {
        "rows": floor.rows,
        "median": floor.median,
        "p90": floor.p90,
        "mean": floor.mean,
        "kendall_tau": tau,
        "unsettled": float(np.mean(apart > (options.agreement or 0.0))),
        "visits": float(np.mean([row.warm.visits for row in own.values() if row.warm])),
    }


def _floors_within(
    store: ProfileStore, rows: Iterable[ComponentProfile], options: SweepOptions
) -> dict[str, list[dict[str, Any]]]:
    """How far the two halves are apart, `by_kind` of component and `by_batch` of whole models."""
    own = {row.content_hash: row for row in rows if row.warm}
    kinds: dict[str, list[float]] = {}
    batches: dict[int, list[float]] = {}
    labels = paired_labels((visit for visit in store.visits() if visit.content_hash in own), options)
    for name, (first_ms, second_ms) in labels.items():
        row, apart = own[name], abs(second_ms / first_ms - 1)
        if row.kind == WHOLE_MODEL:
            batches.setdefault(row.batch, []).append(apart)
        else:
            kinds.setdefault(row.kind, []).append(apart)
    return {
        "by_kind": [{"kind": kind, **_spread(apart)} for kind, apart in sorted(kinds.items())],
        "by_batch": [{"batch": batch, **_spread(apart)} for batch, apart in sorted(batches.items())],
    }


def _spread(apart: Sequence[float]) -> dict[str, float]:
    return {"rows": len(apart), "mean": float(np.mean(apart)), "p90": float(np.quantile(apart, 0.9))}


def log_errors(model: FittedDeviceModel, directory: Path, count: int, options: SweepOptions) -> Mapping[str, Any]:
    """Look-ups of the ids of the Scarab log in their order, against what its Zipf exponent makes the model predict."""
    logged = tuple(with_logged_ids(component, SCARAB) for component in _log_tables(count, options.seed))
    store = ProfileStore(directory)
    sweep(logged, RecommendationProvider(), store, options=options)
    latencies = {(row.spec, row.batch): row.warm for row in store.load() if row.warm is not None}
    found = [(one, latencies.get((one.spec(), one.batch))) for one in logged]
    known = [(one, latency.p25_ms) for one, latency in found if latency is not None]
    predicted = model.predict([without_log(one) for one, _ in known]).mean_ms
    measured: Floats = np.array([latency_ms for _, latency_ms in known])
    errors = summarise_errors(measured, predicted)
    return {"rows": errors.rows, "mape": errors.mape, "bias": errors.bias, "exponent": float(logged[0]["zipf"])}


def _log_tables(count: int, seed: int) -> Sequence[Component]:
    rng = np.random.default_rng(seed)
    return [
        make_component(
            "embedding",
            int(batch),
            {"rows": _LOG_ROWS, "dim": int(dim), "pooling": float(pooling), "zipf": 0.0, "backend": "torch"},
        )
        for batch, dim, pooling in zip(
            np.exp2(rng.uniform(0, 12, count)).round(),
            rng.choice((8, 16, 32, 64), count),
            rng.choice((1, 4, 20), count),
            strict=True,
        )
    ]
