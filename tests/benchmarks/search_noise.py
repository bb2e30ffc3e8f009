"""A search on a click log of a million rows: what capacity do features of very many ids get that are noise?"""

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from planner.cost_model.catalogue import RooflineDeviceModel
from planner.cost_model.composition import CostModel
from planner.pipeline.judging import JudgedPredictor
from planner.pipeline.searching import StudyPredictor, StudyTrainer
from planner.search import SearchResult, SearchTask, Trained, run_search
from planner.search.cost_columns import CostColumns, JudgedDevice
from planner.study import DeviceSection, ModelSection, SearchSection, TrainingSection
from planner.study.space import GroupSection, SpaceSection
from profiles.units import format_bytes
from representations.components import work_of
from representations.datasets import Splits, load_dataset, split_dataset
from representations.specs import Feature, ModelSpec, ReducedTableSpec, TableSpec
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.intervals import mean_interval
from tests.benchmarks.markdown import bullets, table
from tests.benchmarks.planted_clicks import PlantedClicks, write_clicks

__all__ = [
    "BENCHMARK",
    "few_rows_for_noise",
    "noise_bytes",
    "published_costs",
    "search_clicks",
    "summary",
    "whole_tables",
]

RUNGS = (1 / 9, 1 / 3, 1.0)
# Differences of AUC below this are not told from chance by one seed.
_ALIKE = 0.002
_SEEDS = 6
_DIMS = (4, 8)
_MODEL = ModelSection(bottom_mlp=(16, 8), top_mlp=(32, 1))
_DEVICE = DeviceSection(name="cpu", kind="xeon-e5-2680v4")


def space_of(clicks: PlantedClicks) -> SpaceSection:
    """Planted and noise features choose apart: tables of all or few of their rows, or a DHE."""
    noise = GroupSection(
        name="many-ids",
        features=clicks.noise_names,
        representation=("table", "dhe"),
        kept_rows=(1.0, 0.1, 0.001),
        dhe_k=(8, 64),
        dhe_width=(8,),
        dhe_depth=(1,),
    )
    planted = GroupSection(
        name="few-ids",
        features=clicks.names[: len(clicks.planted)],
        representation=("table", "dhe"),
        kept_rows=(1.0, 0.25),
        dhe_k=(8, 64),
        dhe_width=(16,),
        dhe_depth=(1,),
    )
    return SpaceSection(dim=_DIMS, groups=(noise, planted))


def search_clicks(splits: Splits, clicks: PlantedClicks, trials: int, batch_size: int, folder: Path) -> SearchResult:
    """The guided search for AUC, latency and bytes, with the cost model's estimates for a published processor."""
    task = SearchTask(
        features=splits.features,
        dense_features=splits.dense_features,
        section=SearchSection(
            trials=trials, objectives=("auc", "latency_ms", "parameter_bytes"), space=space_of(clicks)
        ),
        latency_device="cpu",
        latency_batch=128,
        model=_MODEL,
    )
    predict = published_costs(splits.features)
    section = _training(batch_size)
    train = StudyTrainer(splits=splits, section=section, rungs=RUNGS, carried=folder / "carried")
    (folder / "carried").mkdir()
    return run_search(task, predict, train, directory=folder / "search", sampler="guided")


def _training(batch_size: int) -> TrainingSection:
    return TrainingSection(epochs=1, batch_size=batch_size)


def published_costs(features: Sequence[Feature]) -> JudgedPredictor:
    """Costs of a query of 128 samples on a published processor, one by one and by column."""
    cost_model = CostModel(models={"cpu": RooflineDeviceModel(hardware=_DEVICE.hardware, work=work_of)})
    zipf = {feature.name: 1.0 for feature in features}
    device = JudgedDevice(name="cpu", memory_bytes=_DEVICE.memory_bytes)
    columns = CostColumns(cost_model=cost_model, devices={"cpu": device}, device="cpu", batch=128, zipf=zipf)
    one = StudyPredictor(cost_model=cost_model, batch=128, zipf=zipf)
    return JudgedPredictor(one=one, by_column=columns, memory_bytes=_DEVICE.memory_bytes)


def noise_bytes(model: ModelSpec, clicks: PlantedClicks) -> int:
    """What the features of noise take of a model."""
    pairs = zip(model.features, model.embeddings, strict=True)
    return sum(embedding.parameter_bytes(feature) for feature, embedding in pairs if feature.name in clicks.noise_names)


def whole_tables(splits: Splits) -> ModelSpec:
    """A table with all its rows for every feature, in the model that the search varies."""
    dim = max(_DIMS)
    return ModelSpec(
        name="all rows of all tables",
        dense_features=splits.dense_features,
        features=splits.features,
        embeddings=(TableSpec(dim=dim),) * len(splits.features),
        bottom_mlp=(*_MODEL.bottom_mlp[:-1], dim),
        top_mlp=_MODEL.top_mlp,
    )


def few_rows_for_noise(whole: ModelSpec, clicks: PlantedClicks) -> ModelSpec:
    """The same with a thousandth of the rows for each feature of noise."""
    embeddings = [
        ReducedTableSpec(dim=embedding.width, rows=max(1, feature.cardinality // 1000), kept_by="hash")
        if feature.name in clicks.noise_names
        else embedding
        for feature, embedding in zip(whole.features, whole.embeddings, strict=True)
    ]
    return replace(whole, embeddings=tuple(embeddings), name="the same, few rows of noise")


def summary(
    result: SearchResult, beside: Mapping[ModelSpec, Sequence[Trained]], clicks: PlantedClicks
) -> dict[str, Any]:
    """The best trial, the one of the fewest bytes for noise that is as good, and models trained beside the search.

    These come with their mean scores over seeds. `noise_share` is of what the first spends on noise, `differ_by` the
    interval of the mean by which the first is better than the second, seed by seed.
    """
    whole, fewer = beside
    best = max(result.feasible, key=lambda trial: trial.auc or 0.0)
    alike = [trial for trial in result.feasible if (trial.auc or 0.0) >= (best.auc or 0.0) - _ALIKE]
    least = min(alike, key=lambda trial: noise_bytes(trial.model, clicks))
    found = [
        ("best AUC", best.model, best.auc, best.test),
        ("as good, least for noise", least.model, least.auc, least.test),
        *((f"beside the search, {len(some)} seeds", model, *_means(some)) for model, some in beside.items()),
    ]
    rows = [
        {
            "what": what,
            "name": model.name,
            "auc": auc,
            "test_auc": test["auc"],
            "noise_bytes": noise_bytes(model, clicks),
            "parameter_bytes": model.parameter_bytes,
        }
        for what, model, auc, test in found
    ]
    pairs = zip(beside[whole], beside[fewer], strict=True)
    return {
        "rows": rows,
        "noise_share": noise_bytes(least.model, clicks) / noise_bytes(whole, clicks),
        "differ_by": mean_interval([one.test["auc"] - other.test["auc"] for one, other in pairs]),
    }


def _means(trained: Sequence[Trained]) -> tuple[float, dict[str, float]]:
    return fmean(one.auc for one in trained), {"auc": fmean(one.test["auc"] for one in trained)}


def _measure(quick: bool) -> Figures:
    clicks = PlantedClicks(noise=(20_000, 30_000)) if quick else PlantedClicks()
    rows = 60_000 if quick else 1_000_000
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_clicks(folder / "clicks.tsv", rows, clicks)
        file_bytes = (folder / "clicks.tsv").stat().st_size
        begin_s = time.perf_counter()
        dataset = load_dataset("criteo-kaggle", folder / "clicks.tsv", features=clicks.names)
        splits = split_dataset(dataset, "random", 0)
        read_s = time.perf_counter() - begin_s
        batch_size = 1024 if quick else 4096
        result = search_clicks(splits, clicks, 4 if quick else 12, batch_size, folder)
        search_s = time.perf_counter() - begin_s - read_s
        whole = whole_tables(splits)
        train = StudyTrainer(splits=splits, section=_training(batch_size))
        seeds = range(2 if quick else _SEEDS)
        beside = {model: [train(model, i) for i in seeds] for model in (whole, few_rows_for_noise(whole, clicks))}
    return {
        "rows_in_file": rows,
        "file_bytes": file_bytes,
        "read_s": read_s,
        "search_s": search_s,
        "trials": len(result.trials),
        "whole_trainings": len(result.feasible),
        "ids": {feature.name: feature.cardinality for feature in splits.features},
        "noise": list(clicks.noise_names),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        **summary(result, beside, clicks),
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    lines = [
        (
            row["what"],
            row["name"],
            f"{row['auc']:.4f}",
            f"{row['test_auc']:.4f}",
            format_bytes(row["noise_bytes"]),
            format_bytes(row["parameter_bytes"]),
        )
        for row in report["rows"]
    ]
    columns = ("trained", "model", "AUC, validation", "AUC, test", "bytes for noise", "bytes in all")
    return [
        _introduction(report),
        table(columns, lines),
        bullets(
            [
                (
                    f"As good as the best (within {_ALIKE} of AUC): one byte for noise where whole tables spend "
                    f"{1 / report['noise_share']:,.0f}."
                ),
                (
                    "Seed by seed all rows for noise are worth "
                    f"{report['differ_by'][0]:+.4f} to {report['differ_by'][1]:+.4f} of test AUC more than few (95 % "
                    "interval of the mean)."
                ),
                (
                    f"Reading took {report['read_s']:.0f} s, the search {report['search_s']:.0f} s; the process held "
                    f"at most {format_bytes(report['peak_memory_bytes'])}."
                ),
            ]
        ),
    ]


def _introduction(report: Mapping[str, Any]) -> str:
    ids = ", ".join(f"{name} {count:,}" for name, count in report["ids"].items())
    return (
        f"A click log in Criteo's format of {report['rows_in_file']:,} generated rows "
        f"({format_bytes(report['file_bytes'])}). Labels depend on the features of few ids and on pairs of them; "
        f"{', '.join(report['noise'])} are noise (ids: {ids}). Both groups choose apart between tables of all or few "
        f"of their rows and DHEs. The search of {report['trials']} trials ({report['whole_trainings']} trained to the "
        "end) is for AUC, latency and bytes."
    )


BENCHMARK = Benchmark(
    name="search_noise",
    title="A search finds that noise needs no capacity",
    measure=_measure,
    describe=_describe,
)

if __name__ == "__main__":
    main(BENCHMARK)
