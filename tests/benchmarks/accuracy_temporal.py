"""Accuracy where the test rows are later than the training rows: flights, earlier months to later ones."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from representations.datasets import Splits, load_dataset, split_dataset
from representations.metrics import score
from representations.presets import get_preset
from representations.training_config import TrainingConfig
from tests.benchmarks.accuracy_flights import FEATURES, REFERENCE, compare
from tests.benchmarks.accuracy_page import accuracy_table, interval_text
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.candidates import is_table
from tests.benchmarks.markdown import bullets

__all__ = ["BENCHMARK"]

_NAMES = ("table 4", "table 16", "dhe k=64", "dhe k=256", "hybrid 8+8 k=256")
# A date of the test months is in no training row.
_FEATURES = tuple(name for name in FEATURES if "*" not in name)
_INTRODUCTION = f"""\
The model of the flights comparison, trained on the earlier months of 2013 and tested on the last sixth of the rows,
with the twelfth before them as validation: what a model that is served meets. At most two epochs, the best one kept;
the learning rates are the defaults, for all alike. Features: {", ".join(_FEATURES)}."""
_MEANING = """\
- Seeds draw weights, hash functions and the order of rows; which rows are test is the same for all. Figures are means
  over seeds.
- **AUC interval**: 95 %, Student's t over the seeds; the *difference* to the reference is taken seed by seed.
- **FLOPs** are per sample, 2 per multiply-accumulate of matrix products, and 8 per hash."""


def _measure(quick: bool) -> Figures:
    dataset = load_dataset("flights", features=_FEATURES, rows=12_000 if quick else None)
    splits = split_dataset(dataset, "temporal")
    rows, found = compare(
        get_preset("dlrm-flights"),
        lambda _: splits,
        _NAMES,
        seeds=(0,) if quick else (0, 1, 2),
        config=TrainingConfig(epochs=1 if quick else 2),
        tune=False,
    )
    return {"seeds": len(found[REFERENCE]), "rows": rows, **_base_rates(splits)}


def _base_rates(splits: Splits) -> dict[str, Any]:
    """What one answer for all test rows reaches, and how much of the test rows training has not seen."""
    labels_N, rate = splits.test.labels_N, splits.train.positive_rate
    unseen = {feature.name: float((splits.test.ids_NS[:, i] == 0).mean()) for i, feature in enumerate(splits.features)}
    constant = score(labels_N, np.full(len(labels_N), rate))
    return {
        "test_rows": len(labels_N),
        "positive_rates": {"training": rate, "test": splits.test.positive_rate},
        "constant": {"log_loss": constant.log_loss, "accuracy": constant.accuracy},
        "unseen": unseen,
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    return [
        _INTRODUCTION,
        f"{report['seeds']} seeds, {report['test_rows']:,} test rows.",
        accuracy_table(report["rows"], REFERENCE),
        "## What the figures mean",
        _MEANING,
        "## Remarks",
        bullets(_remarks(report)),
    ]


def _remarks(report: Mapping[str, Any]) -> list[str]:
    rows, constant, rates = report["rows"], report["constant"], report["positive_rates"]
    aucs = [row["auc"] for row in rows]
    name, share = max(report["unseen"].items(), key=lambda item: item[1])
    remarks = [
        f"All AUCs lie between {min(aucs):.4f} and {max(aucs):.4f}.",
        f"Of the training rows {rates['training']:.1%} are late, of the test rows {rates['test']:.1%}.",
        (
            f"One answer for all test rows, the training rows' rate, has a log loss of {constant['log_loss']:.4f} and "
            f"an accuracy of {constant['accuracy']:.4f}; the best models have "
            f"{min(row['log_loss'] for row in rows):.4f} and {max(row['accuracy'] for row in rows):.4f}."
        ),
        f"Of the test rows' values of {name}, {share:.1%} are in no training row, or in one only.",
    ]
    for row in rows:
        if not is_table(row["representation"]) and row["auc_over_reference_interval"]:
            low, high = row["auc_over_reference_interval"]
            verdict = "no difference outside its interval" if low <= 0 <= high else "outside its interval"
            remarks.append(
                f"{row['representation']} over {REFERENCE}: {row['auc_over_reference']:+.4f} AUC "
                f"({interval_text((low, high), '+.4f')}), {verdict}."
            )
    return remarks


BENCHMARK = Benchmark(
    name="accuracy_temporal",
    title="Accuracy of the representations on later flights",
    measure=_measure,
    describe=_describe,
)

if __name__ == "__main__":
    main(BENCHMARK)
