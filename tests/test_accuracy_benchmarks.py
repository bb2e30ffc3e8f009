"""The plain parts of the accuracy benchmarks, and one round of them on very few rows."""

from functools import partial

import pytest

from representations.datasets import load_dataset, split_dataset
from representations.presets import get_preset
from representations.training_config import TrainingConfig
from tests.benchmarks import accuracy_flights, accuracy_synthetic, dhe_accuracy
from tests.benchmarks.accuracy_flights import FEATURES, compare, hybrids_over_tables
from tests.benchmarks.candidates import CANDIDATES, candidate_model
from tests.benchmarks.paired_training import Score, row_of

DATASET = load_dataset("flights", features=FEATURES, rows=2000)
SPEC = get_preset("dlrm-flights")


def scored(*aucs: float) -> list[Score]:
    return [Score(auc=auc, log_loss=0.4, accuracy=0.8) for auc in aucs]


def test_rows_compare_seed_by_seed() -> None:
    own, tables = scored(0.73, 0.75, 0.77), scored(0.72, 0.74, 0.76)
    row = row_of("table 16", SPEC, own, tables)
    promised = {"representation", "auc", "auc_interval", "log_loss", "accuracy", "parameter_bytes", "flops"}
    assert promised <= row.keys()
    assert row["auc_over_reference_interval"] == pytest.approx((0.01, 0.01))
    assert row_of("table 16", SPEC, own[:1], tables[:1])["auc_over_reference_interval"] is None


def test_a_hybrid_is_compared_with_tables_no_smaller_than_it() -> None:
    scores = {"table 4": scored(0.9, 0.9), "table 64": scored(0.7, 0.72), "hybrid 4+4 k=256": scored(0.75, 0.77)}
    sizes = {"table 4": 10, "table 64": 1000, "hybrid 4+4 k=256": 100}
    rows = [{"representation": n, "auc": s[0].auc, "parameter_bytes": sizes[n]} for n, s in scores.items()]
    best = hybrids_over_tables(rows, scores)
    assert (best["hybrid"], best["table"]) == ("hybrid 4+4 k=256", "table 64")
    assert best["interval"] == pytest.approx((0.05, 0.05))


def test_variance_is_explained_by_rows_or_columns() -> None:
    assert dhe_accuracy.explained([[1, 1], [2, 2]]) == {"k": 1.0, "decoder": 0.0, "rest": 0.0}
    assert dhe_accuracy.explained([[1, 2], [1, 2]])["decoder"] == 1.0
    assert dhe_accuracy.explained([[1, 2], [2, 1]])["rest"] == 1.0
    assert dhe_accuracy.explained([[1, 1]])["k"] == 0.0


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_candidate_can_be_trained(name: str) -> None:
    rows, found = compare(
        SPEC,
        partial(split_dataset, DATASET, "random"),
        ("table 16", name) if name != "table 16" else (name,),
        seeds=(0,),
        config=TrainingConfig(epochs=1),
        tune=False,
    )
    assert 0.4 < rows[-1]["auc"] <= 1
    assert len(found[name]) == 1


def test_pages_say_what_was_found() -> None:
    splits = split_dataset(DATASET, "random", 0)
    rows = [
        row_of(name, candidate_model(SPEC, splits.features, embeddings, name), scored(auc, auc), scored(0.7, 0.7))
        for (name, embeddings), auc in zip(CANDIDATES.items(), [0.7 + 0.001 * i for i in range(30)], strict=False)
    ]
    hybrid = {"hybrid": "hybrid 4+4 k=256", "table": "table 16", "auc_over": 0.004, "interval": (0.003, 0.005)}
    report = {"seeds": 2, "rare_share": 0.25, "test_rows": 300, "rows": rows, "hybrid_over_table": hybrid}
    page = "\n".join(accuracy_flights.BENCHMARK.describe(report))
    assert "+0.0040 AUC over table 16 (+0.0030 to +0.0050), outside the interval" in page
    assert "was not found" not in page
    inside = {**report, "hybrid_over_table": {**hybrid, "interval": (-0.001, 0.009)}}
    page = "\n".join(accuracy_flights.BENCHMARK.describe(inside))
    assert "hybrid 4+4 k=256 +0.0090, hybrid 8+8 k=256 +0.0090" in page
    assert "only 25.0% of the training rows" in page
    synthetic = "\n".join(accuracy_synthetic.BENCHMARK.describe({**report, "best_possible_auc": 0.75}))
    assert "would reach an AUC of 0.7500" in synthetic
    assert "below table 16: none; above it: " in synthetic
    assert accuracy_flights.BENCHMARK.charts is not None
    assert all(svg.startswith("<svg") for svg in accuracy_flights.BENCHMARK.charts(report).values())


def test_dhe_page_tells_both_shares() -> None:
    rows = [row_of("k=16 64", SPEC, scored(0.7), scored(0.7))]
    shares = {"k": 0.8, "decoder": 0.15, "rest": 0.05}
    report = {"seeds": 1, "rows": rows, "explained": shares, "auc_KS": [[0.7, 0.71, 0.72]]}
    page = "\n".join(dhe_accuracy.BENCHMARK.describe(report))
    assert "k explains 80.0% of the differences, the decoder 15.0%" in page
    assert "differs by 0.0200 at k = 16" in page
