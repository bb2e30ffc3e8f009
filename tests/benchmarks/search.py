"""Our search against random search, plain TPE and plain NSGA-II: what each budget of training buys."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.pipeline.searching import StudyPredictor, StudyTrainer
from planner.search import Predictor, SearchTask
from planner.search.front_screening import FrontScreening, screen_front
from planner.search.hypervolume import reference_point
from planner.search.objective import infeasible_reason, predicted_costs
from planner.search.search_space import search_space
from planner.study import DeviceSection, ModelSection, TrainingSection
from planner.study.space import GroupSection, SpaceSection
from representations.components import work_of
from representations.specs import Feature
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.search_invented import NOISE, invented_table
from tests.benchmarks.search_methods import METHODS, OURS, guided_search
from tests.benchmarks.search_noise import published_costs
from tests.benchmarks.search_page import charts, describe
from tests.benchmarks.search_replay import Curve, Ledger, TableTrainer, curve_of, front_keys, run_method, share_to
from tests.benchmarks.search_seeds import read_scatter
from tests.benchmarks.search_table import CONFIG, RUNG_SHARES, SearchTable, distinct_candidates, load_splits, read_table

__all__ = ["BENCHMARK"]

SEEDS = (0, 1, 2, 3, 4)
# Of the seconds that all trainings of the table took.
BUDGET_SHARE = 0.15
FOUND_WITH = 0.1
# What costs at most so many times as much is as cheap.
ALIKE_COSTS = 1.05
_CHANCES = 50
_WORLDS, _RIVAL_RUNS = 3, 2
LIVE_SECONDS = 75.0
_FRONTS = (("auc", "latency_ms", "parameter_bytes"), ("auc", "latency_ms"), ("auc", "parameter_bytes"))
_GRID = 200
_DEVICE = DeviceSection(name="cpu", kind="xeon-e5-2680v4")


def predictor(task: SearchTask) -> Predictor:
    """Costs of a query of 128 samples on a published processor, so that they are the same wherever this runs."""
    models = {"cpu": RooflineDeviceModel(hardware=_DEVICE.hardware, work=work_of)}
    zipf = dict.fromkeys((feature.name for feature in task.features), 1.05)
    return StudyPredictor(cost_model=CostModel(models=models), batch=task.latency_batch, zipf=zipf)


def allowed(task: SearchTask, predict: Predictor) -> dict[str, dict[str, float]]:
    """The predicted costs of the candidates that no constraint rules out, by their keys."""
    found = {}
    for key, candidate in distinct_candidates(task).items():
        costs = predicted_costs(predict(candidate.model), task.latency_device)
        if not infeasible_reason(costs, task.section.limits):
            found[key] = costs
    return found


def reference_of(task: SearchTask, costs: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Fixed before any search: the constraints, chance, and a tenth beyond the dearest."""
    dearest = {name: max(one[name] for one in costs.values()) for name in next(iter(costs.values()))}
    return reference_point(task.section.objectives, task.section.limits, dearest)


def replayed(table: SearchTable, predict: Predictor, seeds: Sequence[int], budget_s: float) -> dict[str, list[Ledger]]:
    """Every method on the table, by seed."""
    train = TableTrainer(table=table)
    return {
        name: [run_method(method, table.task, predict, train, budget_s, seed) for seed in seeds]
        for name, method in METHODS.items()
    }


def front_found(
    table: SearchTable, predict: Predictor, seeds: Sequence[int], noise: float, share: float = FOUND_WITH
) -> dict[str, Any]:
    """How much of the true front our search trains to the end with that share of the whole table's trainings.

    Exactly: by identity. Else a member counts where something as good was trained: an AUC lower by at most `noise`,
    at costs at most `ALIKE_COSTS` times as high. `by_chance` is what as many candidates drawn at random have of it.
    """
    costs, objectives = allowed(table.task, predict), table.task.section.objectives
    values = {key: {**costs[key], "auc": table.trainings[key].rungs[-1].validation.auc} for key in costs}
    true = set(front_keys(values, objectives))

    def as_good(trained: Collection[str]) -> float:
        return sum(any(_as_good(values[one], values[key], noise) for one in trained) for key in true) / len(true)

    trainings = int(share * len(table.trainings))
    drawn = [random.Random(i).sample(sorted(values), min(trainings, len(values))) for i in range(_CHANCES)]
    exactly, alike, spent_s = [], [], []
    for seed in seeds:
        method = partial(guided_search, trials=trainings)
        ledger = run_method(method, table.task, predict, TableTrainer(table=table), float("inf"), seed)
        trained = {event.key for event in ledger.events}
        exactly.append(len(true & trained) / len(true))
        alike.append(as_good(trained))
        spent_s.append(ledger.trained_s)
    return {
        "objectives": list(objectives),
        "front_size": len(true),
        "as_good": fmean(alike),
        "exactly": fmean(exactly),
        "by_chance": fmean(map(as_good, drawn)),
        "allowed": len(costs),
        "trainings": trainings,
        "trained_s": fmean(spent_s),
    }


def judged_by(table: SearchTable, objectives: tuple[str, ...]) -> SearchTable:
    """The same trainings, searched for other objectives."""
    return replace(table, task=replace(table.task, section=replace(table.task.section, objectives=objectives)))


def _as_good(one: Mapping[str, float], other: Mapping[str, float], noise: float) -> bool:
    names = ("latency_ms", "parameter_bytes")
    return one["auc"] >= other["auc"] - noise and all(one[name] <= ALIKE_COSTS * other[name] for name in names)


def screened(features: tuple[Feature, ...], most: int) -> dict[str, Any]:
    """How many candidates a second our screening prices and compares, in a space far too large to be listed."""
    group = GroupSection(
        each=True,
        representation=("table", "dhe", "hybrid", "quotient-remainder"),
        kept_rows=(1.0, 0.5, 0.1),
        dtype=("float32", "int8"),
    )
    section = SpaceSection(dim=(4, 8, 16), groups=(group,), top_width=(32, 64, 128), top_depth=(1, 2))
    space = search_space(section, features, 1, ModelSection())
    price = published_costs(features).by_column
    wanted = FrontScreening(objectives=("auc", "latency_ms", "parameter_bytes"), most=most)
    # The first look also imports and compiles.
    screen_front(space, price, FrontScreening(objectives=wanted.objectives, most=2_000))
    found = screen_front(space, price, wanted)
    return {
        "space_size": float(space.size),
        "screened": found.screened,
        "screened_per_s": found.screened_per_s,
        "screened_front": int(found.is_front_K.sum()),
    }


def on_invented(
    table: SearchTable, predict: Predictor, reference: Mapping[str, float], budget_s: float, worlds: int
) -> list[dict[str, Any]]:
    """The same comparison on tables of invented accuracies, one of our runs each, and the front that it finds."""
    rows = []
    for world in range(worlds):
        other = invented_table(table, world)
        train, row = TableTrainer(table=other), dict[str, Any]()
        runs = {name: 1 if name == OURS else _RIVAL_RUNS for name in (OURS, "random", "tpe")}
        curves = {
            name: [
                curve_of(run_method(METHODS[name], other.task, predict, train, budget_s, seed).events, reference)
                for seed in range(count)
            ]
            for name, count in runs.items()
        }
        for name in ("random", "tpe"):
            final = fmean(curve.final for curve in curves[name])
            row[f"budget_share_to_{name}"] = share_to(curves[OURS], final, budget_s)
        rows.append(row | front_found(other, predict, (0,), NOISE))
    return rows


def live(task: SearchTask, predict: Predictor, reference: Mapping[str, float], seconds: float) -> list[dict[str, Any]]:
    """One run of each method that really trains."""
    section = TrainingSection(epochs=CONFIG.epochs, batch_size=CONFIG.batch_size, rows=CONFIG.maximum_rows)
    splits = load_splits()
    rows = []
    for name, method in METHODS.items():
        with TemporaryDirectory() as folder:
            train = StudyTrainer(splits=splits, section=section, rungs=RUNG_SHARES, carried=Path(folder))
            ledger = run_method(method, task, predict, train, seconds, 0)
        curve = curve_of(ledger.events, reference)
        rows.append({"method": name, "trainings": len(ledger.events), "steps": ledger.steps, "volume": curve.final})
    return rows


def _measure(quick: bool) -> Figures:
    table = read_table()
    task, predict = table.task, predictor(table.task)
    reference = reference_of(task, allowed(task, predict))
    seeds = SEEDS[:2] if quick else SEEDS
    budget_s = BUDGET_SHARE * table.seconds
    found = replayed(table, predict, seeds, budget_s)
    curves = {name: [curve_of(ledger.events, reference) for ledger in ledgers] for name, ledgers in found.items()}
    scatter = read_scatter(table)
    # Seeds change little here: only which of equal candidates a search begins with.
    few, wanted = (seeds[:1], _FRONTS[:1]) if quick else (seeds[:2], _FRONTS)
    fronts = [front_found(judged_by(table, one), predict, few, scatter.validation) for one in wanted]
    grid_s = np.linspace(0, budget_s, _GRID + 1)
    finals = {name: fmean(curve.final for curve in some) for name, some in curves.items()}
    return {
        **{
            f"budget_share_to_{name}": share_to(curves[OURS], finals[name], budget_s)
            for name in METHODS
            if name != OURS
        },
        "front_found_share": fronts[0]["as_good"],
        "front_found_exactly": fronts[0]["exactly"],
        "fronts": fronts,
        "seed_noise": asdict(scatter),
        "invented": on_invented(table, predict, reference, budget_s, 0 if quick else _WORLDS),
        **screened(task.features, 20_000 if quick else 200_000),
        "seeds": len(seeds),
        "budget_s": budget_s,
        "table_s": table.seconds,
        "candidates": len(table.trainings),
        "limits": dict(task.section.limits),
        "reference": reference,
        "methods": [_method_row(name, found[name], curves[name], curves[OURS], budget_s) for name in METHODS],
        "curves": {name: [_mean_at(some, time_s) for time_s in grid_s] for name, some in curves.items()},
        "live": live(task, predict, reference, LIVE_SECONDS) if not quick else [],
    }


def _mean_at(curves: Sequence[Curve], time_s: float) -> float:
    return fmean(float(curve.at(np.array([time_s]))[0]) for curve in curves)


def _method_row(
    name: str, ledgers: Sequence[Ledger], curves: Sequence[Curve], ours: Sequence[Curve], budget_s: float
) -> dict[str, Any]:
    own = [share_to([mine], curve.final, budget_s) for mine, curve in zip(ours, curves, strict=True)]
    return {
        "method": name,
        "volume": fmean(curve.final for curve in curves),
        "volumes": [curve.final for curve in curves],
        "trainings": fmean(len(ledger.events) for ledger in ledgers),
        "own_s": fmean(ledger.elapsed_s - ledger.trained_s for ledger in ledgers),
        "median_share": median(1.0 if share is None else share for share in own),
        "not_reached": sum(share is None for share in own),
    }


BENCHMARK = Benchmark(
    name="search",
    title="Architecture search: what a budget of training buys",
    measure=_measure,
    describe=describe,
    charts=charts,
)

if __name__ == "__main__":
    main(BENCHMARK)
