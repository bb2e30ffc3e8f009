"""What each representation's accuracy costs on real data: the bundled flights, random split, pairs over seeds."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from representations.datasets import Dataset, Splits, load_dataset, split_dataset
from representations.presets import get_preset
from representations.specs import ModelSpec
from representations.training_config import TrainingConfig
from tests.benchmarks.accuracy_page import MEANING, accuracy_chart, accuracy_table, interval_text
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.candidates import CANDIDATES, candidate_model, is_hybrid, is_table
from tests.benchmarks.markdown import bullets, percent
from tests.benchmarks.paired_training import Score, beats, row_of, scores, tuned

__all__ = ["BENCHMARK", "FEATURES", "compare"]

FEATURES = ("tailnum", "flight", "carrier", "origin", "dest", "hour", "minute", "month*day")
REFERENCE = "table 16"
_CONFIG = TrainingConfig(epochs=3)
_FACTORISATION_MACHINE_AUC = 0.786
_GOAL = 0.001
_RARE = 10
_INTRODUCTION = """\
A small DLRM (bottom MLP 64, top MLP 64-1, dot interaction) on the bundled flights data: is a flight more than 15
minutes late? A random sixth of the rows is test. Features: tailnum, flight, carrier, origin, dest, hour, minute and the
day of the year (month x day as one). *select* gives a DHE to the three features of most ids and tables to the others; a
hybrid `a+b` is a table of width a and a DHE of width b side by side; DHEs have one hidden layer of 64. At most three
epochs, the best one kept."""


def compare(
    base: ModelSpec,
    split: Callable[[int], Splits],
    names: Sequence[str],
    *,
    seeds: Sequence[int],
    config: TrainingConfig,
    tune: bool,
) -> tuple[list[dict[str, Any]], dict[str, list[Score]]]:
    """A row per candidate, and the scores behind them."""
    models = {name: partial(_model, base, name) for name in names}
    settings = {name: tuned(model, split, config) if tune else config for name, model in models.items()}
    found = scores(models, split, seeds, settings)
    sample = split(seeds[0])
    rows = [
        {
            **row_of(name, model(sample), found[name], found[REFERENCE]),
            "learning_rate": settings[name].learning_rate,
            "table_learning_rate": settings[name].table_learning_rate,
        }
        for name, model in models.items()
    ]
    return rows, found


def hybrids_over_tables(rows: Sequence[Mapping[str, Any]], found: Mapping[str, Sequence[Score]]) -> dict[str, Any]:
    """The best hybrid that is no larger than some table, beside the best of the tables no smaller than it."""
    best: dict[str, Any] = {}
    for hybrid in (row for row in rows if is_hybrid(row["representation"])):
        larger = [
            r for r in rows if is_table(r["representation"]) and r["parameter_bytes"] >= hybrid["parameter_bytes"]
        ]
        if larger and hybrid["auc"] > best.get("auc", 0.0):
            table = max(larger, key=lambda row: row["auc"])
            names = hybrid["representation"], table["representation"]
            best = {
                "auc": hybrid["auc"],
                "hybrid": names[0],
                "table": names[1],
                **beats(found[names[0]], found[names[1]]),
            }
    return best


def _model(base: ModelSpec, name: str, splits: Splits) -> ModelSpec:
    return candidate_model(base, splits.features, CANDIDATES[name], name)


def _measure(quick: bool) -> Figures:
    dataset = load_dataset("flights", features=FEATURES, rows=12_000 if quick else None)
    rows, found = compare(
        get_preset("dlrm-flights"),
        partial(_split, dataset),
        tuple(CANDIDATES),
        seeds=(0,) if quick else (0, 1, 2, 3, 4),
        config=TrainingConfig(epochs=1) if quick else _CONFIG,
        tune=not quick,
    )
    splits = _split(dataset, 0)
    return {
        "seeds": len(found[REFERENCE]),
        "rare_share": _rare_share(splits.train),
        "test_rows": len(splits.test),
        "rows": rows,
        "hybrid_over_table": hybrids_over_tables(rows, found),
    }


def _split(dataset: Dataset, seed: int) -> Splits:
    return split_dataset(dataset, "random", seed)


def _rare_share(dataset: Dataset) -> float:
    """The share of rows whose id occurs in fewer than `_RARE` of them, in the feature where that is most."""
    counts = [np.bincount(ids_N)[ids_N] for ids_N in dataset.ids_NS.T]
    return max(float((counts_N < _RARE).mean()) for counts_N in counts)


def _charts(report: Mapping[str, Any]) -> dict[str, str]:
    rows = report["rows"]
    return {
        "accuracy_flights_bytes": accuracy_chart(rows, "parameter_bytes", "parameter bytes of the model"),
        "accuracy_flights_flops": accuracy_chart(rows, "flops", "FLOPs per sample"),
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    return [
        _INTRODUCTION,
        f"{report['seeds']} seeds, {report['test_rows']:,} test rows each.",
        accuracy_table(report["rows"], REFERENCE),
        "![AUC over parameter bytes](images/accuracy_flights_bytes.svg)",
        "![AUC over FLOPs per sample](images/accuracy_flights_flops.svg)",
        "## What the figures mean",
        MEANING,
        "## Remarks",
        bullets(_remarks(report)),
    ]


def _remarks(report: Mapping[str, Any]) -> list[str]:
    best_table = max((r for r in report["rows"] if is_table(r["representation"])), key=lambda row: row["auc"])
    reached = f"the best table DLRM reaches {best_table['auc']:.4f} ({best_table['representation']})."
    remarks = [f"A factorisation machine on the same fields had reached {_FACTORISATION_MACHINE_AUC} AUC; {reached}"]
    best = report["hybrid_over_table"]
    if best and best["interval"]:
        low, _ = best["interval"]
        verdict = "outside" if low > 0 else "inside"
        remarks.append(
            f"The best hybrid with a table of equal or larger size beside it is {best['hybrid']}: "
            f"{best['auc_over']:+.4f} AUC over {best['table']} ({interval_text(best['interval'], '+.4f')}), "
            f"{verdict} the interval of the difference."
        )
        if low < _GOAL:
            remarks += _why_not(report["rows"], report["rare_share"])
    return remarks


def _why_not(rows: Sequence[Mapping[str, Any]], rare_share: float) -> list[str]:
    """What was tried for a hybrid that beats every table of its size, and what the figures say of the reason."""
    auc = {row["representation"]: row["auc"] for row in rows}
    hybrids = [name for name in auc if is_hybrid(name)]
    equals = {name: f"table {sum(map(int, name.split()[1].split('+')))}" for name in hybrids}
    differences = ", ".join(f"{name} {auc[name] - auc[equal]:+.4f}" for name, equal in equals.items())
    return [
        (
            f"A gain of {_GOAL} over a table of equal or larger size was not found. Tried: hybrids of three widths and "
            "two numbers of hashes, each with the four pairs of learning rates."
        ),
        (
            f"Over a table of as many floats per id, the mean AUC of a hybrid is {differences}. Once an embedding is "
            "wide enough, what fills it hardly counts, and a wider table is the smaller way to a higher AUC."
        ),
        (
            f"A likely reason: only {percent(rare_share)} of the training rows have an id that fewer than {_RARE} "
            "of them have (in the feature where it is most). What a DHE shares between ids helps where ids are rare; "
            "here a table has enough rows to learn nearly every id by itself."
        ),
    ]


BENCHMARK = Benchmark(
    name="accuracy_flights",
    title="Accuracy of the representations on flights",
    measure=_measure,
    describe=_describe,
    charts=_charts,
)

if __name__ == "__main__":
    main(BENCHMARK)
