"""The same comparison where the right order is known: an effect planted per id, Zipf-distributed ids."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from representations.datasets import Splits, SyntheticSpec, make_synthetic, split_dataset
from representations.metrics import score
from representations.presets import get_preset
from representations.specs import Feature
from representations.training_config import TrainingConfig
from tests.benchmarks.accuracy_flights import REFERENCE, compare
from tests.benchmarks.accuracy_page import MEANING, accuracy_table
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.candidates import CANDIDATES
from tests.benchmarks.markdown import bullets

__all__ = ["BENCHMARK", "PLANTED"]

PLANTED = SyntheticSpec(
    features=(Feature(name="user", cardinality=6_000), Feature(name="item", cardinality=1_500)),
    dense_features=1,
    zipf=1.05,
    effect_scale=1.0,
    interaction_scale=0.0,
)
_ROWS, _QUICK_ROWS = 60_000, 12_000
_INTRODUCTION = f"""\
{_ROWS:,} generated samples: two features of {PLANTED.features[0].cardinality:,} and
{PLANTED.features[1].cardinality:,} ids, drawn by Zipf's law with exponent {PLANTED.zipf}; the logit is a sum of one
effect per id (deviation {PLANTED.effect_scale:g}), a dense feature and a bias, and holds no interaction. So a table,
which learns each id by itself, is the right representation, and what makes ids share parameters can only lose: little
where it has many of them, more the fewer there are. *select* gives the DHE to the first feature. The model and the
tuning are those of the flights comparison."""


def _split(rows: int, seed: int) -> Splits:
    return split_dataset(make_synthetic(PLANTED, rows, seed).dataset, "random", seed)


def _measure(quick: bool) -> Figures:
    rows = _QUICK_ROWS if quick else _ROWS
    seeds = (0,) if quick else (0, 1, 2, 3, 4)
    best = make_synthetic(PLANTED, rows, 0)
    lines, found = compare(
        get_preset("dlrm-flights"),
        partial(_split, rows),
        tuple(CANDIDATES),
        seeds=seeds,
        config=TrainingConfig(epochs=1 if quick else 3),
        tune=not quick,
    )
    return {
        "seeds": len(found[REFERENCE]),
        "best_possible_auc": score(best.dataset.labels_N, best.probabilities_N).auc,
        "rows": lines,
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    order = sorted(report["rows"], key=lambda row: -row["auc"])
    remarks = [
        f"The true probabilities would reach an AUC of {report['best_possible_auc']:.4f}.",
        f"In the order of their AUC: {', '.join(row['representation'] for row in order)}.",
        (
            f"Outside the interval of the difference, below {REFERENCE}: {_beside_table(order, below=True)}; above it: "
            f"{_beside_table(order, below=False)}. The others cannot be told from it by these seeds."
        ),
    ]
    return [
        _INTRODUCTION,
        f"{report['seeds']} seeds.",
        accuracy_table(report["rows"], REFERENCE),
        "## What the figures mean",
        MEANING,
        "## Remarks",
        bullets(remarks),
    ]


def _beside_table(rows: Sequence[Mapping[str, Any]], *, below: bool) -> str:
    """The representations whose difference to the reference is surely of that sign."""
    intervals = {row["representation"]: row["auc_over_reference_interval"] for row in rows}
    names = [name for name, one in intervals.items() if one and (one[1] < 0 if below else one[0] > 0)]
    return ", ".join(names) or "none"


BENCHMARK = Benchmark(
    name="accuracy_synthetic",
    title="Accuracy of the representations where the right order is known",
    measure=_measure,
    describe=_describe,
)

if __name__ == "__main__":
    main(BENCHMARK)
