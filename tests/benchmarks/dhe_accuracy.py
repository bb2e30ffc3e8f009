"""What decides a DHE's accuracy: the number of hashes, or the shape of the decoder?"""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from representations.datasets import load_dataset, split_dataset
from representations.presets import get_preset
from representations.training_config import TrainingConfig
from tests.benchmarks.accuracy_flights import FEATURES
from tests.benchmarks.accuracy_page import accuracy_chart
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.candidates import DECODERS, HASHES, candidate_model, dhe
from tests.benchmarks.markdown import bullets, percent, table
from tests.benchmarks.paired_training import ModelOf, row_of, scores, tuned

__all__ = ["BENCHMARK", "explained"]

_ROWS = 80_000
_INTRODUCTION = f"""\
The flights DLRM on the first {_ROWS:,} rows, split at random, with a DHE for every feature:
k = {", ".join(map(str, HASHES))} hashes, three shapes of the decoder's hidden layers ({", ".join(DECODERS)}), each
tuned with the same budget and trained for at most two epochs. The published finding (Hsia et al., arXiv 2302.10872) is
that k decides the accuracy and the decoder's shape barely matters."""
_MEANING = """\
- **explained**: share of the variance of the cells' mean AUC, as in a two-way analysis of variance without
  replication: between rows (k), between columns (shape), and what is left."""


def explained(auc_KS: Sequence[Sequence[float]]) -> dict[str, float]:
    """Shares of the variance between the cells of a table that its rows and its columns explain, and the rest."""
    mean = fmean(value for row in auc_KS for value in row)
    rows, columns = [fmean(row) for row in auc_KS], [fmean(column) for column in zip(*auc_KS, strict=True)]
    total = sum((value - mean) ** 2 for row in auc_KS for value in row)
    by_row = len(columns) * sum((value - mean) ** 2 for value in rows)
    by_column = len(rows) * sum((value - mean) ** 2 for value in columns)
    if not total:
        return {"k": 0.0, "decoder": 0.0, "rest": 0.0}
    return {"k": by_row / total, "decoder": by_column / total, "rest": 1 - (by_row + by_column) / total}


def _measure(quick: bool) -> Figures:
    dataset = load_dataset("flights", features=FEATURES, rows=12_000 if quick else _ROWS)
    split = partial(split_dataset, dataset, "random")
    seeds = (0,) if quick else (0, 1, 2)
    config = TrainingConfig(epochs=1 if quick else 2)
    models = _models(HASHES[:2] if quick else HASHES)
    settings = {name: config if quick else tuned(model, split, config) for name, model in models.items()}
    found = scores(models, split, seeds, settings)
    first = next(iter(found))
    rows = [row_of(name, model(split(0)), found[name], found[first]) for name, model in models.items()]
    shapes = len(DECODERS)
    auc_KS = [[row["auc"] for row in rows[i : i + shapes]] for i in range(0, len(rows), shapes)]
    return {"seeds": len(seeds), "rows": rows, "explained": explained(auc_KS), "auc_KS": auc_KS}


def _models(hashes: Sequence[int]) -> dict[str, ModelOf]:
    base = get_preset("dlrm-flights")
    return {
        f"k={k} {shape}": partial(
            lambda spec, name, splits: candidate_model(base, splits.features, lambda fs: (spec,) * len(fs), name),
            dhe(k, widths),
            f"k={k} {shape}",
        )
        for k in hashes
        for shape, widths in DECODERS.items()
    }


def _charts(report: Mapping[str, Any]) -> dict[str, str]:
    rows = report["rows"]
    return {
        "dhe_accuracy_bytes": accuracy_chart(rows, "parameter_bytes", "parameter bytes of the model"),
        "dhe_accuracy_flops": accuracy_chart(rows, "flops", "FLOPs per sample"),
    }


def _describe(report: Mapping[str, Any]) -> list[str]:
    hashes = HASHES[: len(report["auc_KS"])]
    cells = [(f"k = {k}", *(f"{auc:.4f}" for auc in row)) for k, row in zip(hashes, report["auc_KS"], strict=True)]
    spreads = ", ".join(
        f"{max(row) - min(row):.4f} at k = {k}" for k, row in zip(hashes, report["auc_KS"], strict=True)
    )
    shares = report["explained"]
    return [
        _INTRODUCTION,
        f"{report['seeds']} seeds; mean AUC on the test rows:",
        table(("", *DECODERS), cells),
        table(("explained by", "share"), [(name, percent(share)) for name, share in shares.items()]),
        "![AUC over parameter bytes](images/dhe_accuracy_bytes.svg)",
        "![AUC over FLOPs per sample](images/dhe_accuracy_flops.svg)",
        "## What the figures mean",
        _MEANING,
        "## Remarks",
        bullets(
            [
                f"k explains {percent(shares['k'])} of the differences, the decoder {percent(shares['decoder'])}.",
                f"Between the best and the worst decoder the AUC differs by {spreads}.",
            ]
        ),
    ]


BENCHMARK = Benchmark(
    name="dhe_accuracy",
    title="What decides a DHE's accuracy",
    measure=_measure,
    describe=_describe,
    charts=_charts,
)

if __name__ == "__main__":
    main(BENCHMARK)
