"""The parts of the search's benchmarks: a table of trainings, replays on it, and the page."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from planner.pipeline.searching import StudyTrainer
from planner.search.evaluation import RungStep
from planner.search.task import SearchTask
from planner.study import SearchSection, TrainingSection
from profiles.errors import CorruptFileError
from representations.datasets import load_dataset, split_dataset
from representations.metrics import Metrics
from representations.training_config import TrainingConfig
from tests.benchmarks import search
from tests.benchmarks.planted_clicks import PlantedClicks, write_clicks
from tests.benchmarks.rivals.plain_search import optuna_search, random_search
from tests.benchmarks.search_invented import invented_table
from tests.benchmarks.search_methods import METHODS
from tests.benchmarks.search_noise import few_rows_for_noise, search_clicks, summary, whole_tables
from tests.benchmarks.search_replay import Curve, TableTrainer, curve_of, front_keys, run_method, share_to
from tests.benchmarks.search_seeds import read_scatter
from tests.benchmarks.search_table import (
    SCHEMA,
    FinishedTraining,
    Rung,
    SearchTable,
    distinct_candidates,
    finished,
    load_splits,
    read_table,
)
from tests.planner.search.closed_form import SMALL_SPACE, make_task, predict, train

TASK = make_task(SearchSection(trials=4, space=SMALL_SPACE))


def closed_table(task: SearchTask = TASK) -> SearchTable:
    """What `closed_form` would train, the early rungs a little worse."""
    rows = {}
    for key, candidate in distinct_candidates(task).items():
        auc = train(candidate.model, 0).auc
        metrics = [
            Metrics(auc=auc - 0.1 * (1 - share), log_loss=1 - auc, accuracy=auc - 0.05) for share in (1 / 3, 1.0)
        ]
        rungs = tuple(Rung(share=s, seconds=6 * s, validation=m) for s, m in zip((1 / 3, 1.0), metrics, strict=True))
        rows[key] = FinishedTraining(choices=candidate.choices, rungs=rungs, test=metrics[-1])
    return SearchTable(task=task, config=TrainingConfig(), trainings=rows)


TABLE = closed_table()
REFERENCE = search.reference_of(TASK, search.allowed(TASK, predict))


def test_a_rung_costs_what_lies_between_it_and_the_one_before() -> None:
    lookup, model = TableTrainer(table=TABLE), next(iter(distinct_candidates(TASK).values())).model
    early = lookup.train_rung(model, 0, RungStep(rung=0))
    late = lookup.train_rung(model, 0, RungStep(rung=1, after=0))
    assert (early.seconds, late.seconds, lookup(model, 0).seconds) == (2.0, 4.0, 6.0)
    assert early.auc < late.auc
    assert (early.test, late.test["auc"]) == ({}, late.auc)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_every_method_ends_with_its_budget(name: str) -> None:
    ledger = run_method(METHODS[name], TASK, predict, TableTrainer(table=TABLE), 40.0, 0)
    assert 0 < len(ledger.events) <= 6
    assert all(event.elapsed_s <= 40.0 for event in ledger.events)
    curve = curve_of(ledger.events, REFERENCE)
    assert 0 < curve.final < 1


def test_random_search_trains_everything_once() -> None:
    ledger = run_method(random_search, TASK, predict, TableTrainer(table=TABLE), float("inf"), 3)
    assert sorted(event.key for event in ledger.events) == sorted(TABLE.trainings)
    true = front_keys({event.key: event.validation for event in ledger.events}, TASK.section.objectives)
    assert curve_of(ledger.events, REFERENCE).final == pytest.approx(
        curve_of([event for event in ledger.events if event.key in true], REFERENCE).final
    )


@pytest.mark.slow
def test_plain_optuna_trains_nothing_twice_and_nothing_forbidden() -> None:
    task = make_task(SearchSection(trials=4, space=SMALL_SPACE, constraints={"parameter_bytes": 60_000}))
    names: list[str] = []

    def noted(spec, seed):  # type: ignore[no-untyped-def]  # as `train`
        names.append(spec.name)
        return train(spec, seed)

    optuna_search("nsga2", task, predict, noted, 0, 60)
    assert len(names) == len(set(names))
    by_name = {one.model.name: one.model for one in distinct_candidates(task).values()}
    assert all(by_name[name].parameter_bytes <= 60_000 for name in names)


def test_a_share_is_where_the_mean_stays_above() -> None:
    curve = Curve(time_s=np.array([0.0, 2.0, 4.0, 6.0]), volume=np.array([0.0, 0.5, 0.4, 0.6]))
    assert share_to([curve], 0.45, 10.0) == pytest.approx(0.6)
    assert share_to([curve], 0.3, 10.0) == pytest.approx(0.2)
    assert share_to([curve], 0.7, 10.0) is None
    assert share_to([curve], 0.0, 10.0) == 0.0


@pytest.mark.slow
def test_the_whole_front_is_found_with_all_trainings() -> None:
    found = search.front_found(TABLE, predict, (0,), 0.002, share=1.0)
    assert found["exactly"] == found["as_good"] == 1.0
    assert found["trained_s"] <= TABLE.seconds + 1e-6


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    splits = load_splits(2_000)
    features = [{"name": one.name, "cardinality": one.cardinality} for one in splits.features]
    head = json.dumps({"schema": SCHEMA, "features": features, "dense_features": 1, "config": {"epochs": 1}})
    (tmp_path / "head.jsonl").write_text(f"{head}\n")
    candidate = next(iter(distinct_candidates(read_table(tmp_path / "head.jsonl").task).values()))
    row = finished(candidate.choices, candidate.model, splits, TrainingConfig(epochs=1, batch_size=256))
    assert [rung.share for rung in row.rungs] == [1 / 9, 1 / 3, 1.0]
    assert 0 < row.rungs[0].seconds < row.seconds
    text = f"{head}\n{json.dumps(row.to_object())}\n" + '{"choices": {"repr'
    for name, content in (("table.jsonl", text.encode()), ("table.jsonl.gz", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(content)
        assert list(read_table(tmp_path / name).trainings.values()) == [row]


def test_other_files_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    (tmp_path / "other").write_text('{"schema": "recplan.plan/1"}\n')
    with pytest.raises(CorruptFileError, match="is empty"):
        read_table(tmp_path / "empty")
    with pytest.raises(CorruptFileError, match="schema"):
        read_table(tmp_path / "other")


def test_the_shipped_table_is_whole() -> None:
    table = read_table()
    assert set(table.trainings) == set(distinct_candidates(table.task))
    assert all(len(row.rungs) == 3 for row in table.trainings.values())
    assert all(0.5 < row.test.auc < 0.85 for row in table.trainings.values())


def test_invented_tables_keep_candidates_and_seconds_and_differ_by_seed() -> None:
    table = read_table()
    one, other = invented_table(table, 1), invented_table(table, 2)
    assert list(one.trainings) == list(table.trainings)
    assert one.seconds == table.seconds
    assert all(0.5 <= rung.validation.auc < 0.9 for row in one.trainings.values() for rung in row.rungs)
    key = next(iter(one.trainings))
    assert one.trainings[key] != other.trainings[key]
    assert invented_table(table, 1).trainings == one.trainings


def test_trainings_from_other_seeds_tell_how_much_of_a_score_is_chance() -> None:
    scatter = read_scatter(read_table())
    assert (scatter.candidates, scatter.trainings) == (16, 64)
    assert 0.002 < scatter.validation < 0.008
    assert scatter.alike == pytest.approx(2.77 * scatter.validation, rel=0.01)


def test_generated_clicks_are_read_by_the_loader(tmp_path: Path) -> None:
    clicks = PlantedClicks(planted=(5, 9), noise=(400,))
    write_clicks(tmp_path / "clicks.tsv", 600, clicks)
    found = load_dataset("criteo-kaggle", tmp_path / "clicks.tsv", features=clicks.names)
    assert len(found) == 600
    assert [feature.name for feature in found.features] == ["C1", "C2", "C3"]
    assert [feature.cardinality for feature in found.features[:2]] == [6, 10]
    assert clicks.noise_names == ("C3",)
    assert 0.2 < found.labels_N.mean() < 0.6


@pytest.mark.slow
def test_a_search_spends_next_to_nothing_on_features_of_noise(tmp_path: Path) -> None:
    clicks = PlantedClicks(planted=(20, 60), noise=(4_000,))
    write_clicks(tmp_path / "clicks.tsv", 12_000, clicks)
    splits = split_dataset(load_dataset("criteo-kaggle", tmp_path / "clicks.tsv", features=clicks.names), "random", 0)
    result = search_clicks(splits, clicks, 3, 256, tmp_path)
    whole = whole_tables(splits)
    train = StudyTrainer(splits=splits, section=TrainingSection(epochs=1, batch_size=256))
    models = (whole, few_rows_for_noise(whole, clicks))
    found = summary(result, {model: [train(model, seed) for seed in (0, 1)] for model in models}, clicks)
    best, _, tables, fewer = found["rows"]
    assert fewer["noise_bytes"] < 0.01 * tables["noise_bytes"]
    assert found["noise_share"] < 0.2
    assert best["auc"] > tables["auc"] - 0.05


def test_the_page_tells_what_was_reached_and_what_was_not() -> None:
    rows = [
        {"method": name, "volume": 0.3, "volumes": [0.3], "trainings": 5.0, "own_s": 0.5, "median_share": 0.2}
        for name in METHODS
    ]
    front = {"objectives": ["auc", "parameter_bytes"], "front_size": 5, "exactly": 0.4, "as_good": 0.8}
    front |= {"allowed": 18, "trainings": 2, "by_chance": 0.3}
    report = {
        "candidates": 20, "table_s": 100.0, "limits": {"parameter_bytes": 1e6, "latency_ms": 2.0},
        "budget_s": 15.0, "seeds": 5, "methods": rows, "budget_share_to_random": 0.2, "budget_share_to_tpe": None,
        "budget_share_to_nsga2": 0.4, "fronts": [front], "space_size": 1e12, "screened": 1000,
        "screened_per_s": 2e5, "screened_front": 30,
        "curves": {name: [0.0, 0.2, 0.3] for name in METHODS},
        "invented": [{**front, "budget_share_to_random": 0.1, "budget_share_to_tpe": None}],
        "seed_noise": {"validation": 0.004, "test": 0.004, "candidates": 16, "trainings": 64},
        "live": [{"method": "ours", "volume": 0.3, "trainings": 4, "steps": 9}],
    }  # fmt: skip
    page = "\n".join(search.BENCHMARK.describe(report))
    assert "| Optuna TPE | 0.3000 | 5.0 | 0.500 | not reached | 20.0% |" in page
    assert "| auc, parameter_bytes | 5 | 40.0% | 80.0% | 30.0% |" in page
    assert "| 1 | 10.0% | not reached | 5 | 40.0% | 80.0% | 30.0% |" in page
    assert "1,000 different candidates were priced and compared by evolution at 200,000 per second" in page
    assert search.BENCHMARK.charts is not None
    assert search.BENCHMARK.charts(report)["search"].startswith("<svg")
