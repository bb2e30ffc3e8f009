"""Rows that the cost model's benchmark adds to a study's: a space-filling design per kind, and ids of a real log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from planner.cost_model.accuracy import summarise_errors
from planner.cost_model.estimates import Floats
from planner.cost_model.model import FittedDeviceModel
from planner.cost_model.noise import paired_floor
from profiles.component import Component, make_component
from profiles.store import ProfileStore
from profiles.sweep import sweep
from profiles.sweep_options import SweepOptions
from representations.datasets.access_log import SCARAB
from representations.logged_ids import with_logged_ids, without_log
from representations.provider import RecommendationProvider
from tests.benchmarks.space_filling import DESIGNS, design

__all__ = ["log_errors", "measure_design"]

_LOG_ROWS = 258_368


def measure_design(directory: Path, per_kind: int, options: SweepOptions) -> dict[str, Any]:
    """Measure the design into a store; the noise floor is of each row's own visits, every other against the rest."""
    components = [component for kind in DESIGNS for component in design(kind, per_kind, seed=options.seed)]
    # A study's sweep skips rows of as many visits as it wants: pairs of visits need one more of each.
    paired = replace(options, visits=2 * options.visits)
    store = ProfileStore(directory)
    result = sweep(components, RecommendationProvider(), store, options=paired)
    floor = paired_floor(store.visits())
    return {"points": result.measured, "median": floor.median, "p90": floor.p90, "mean": floor.mean}


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
