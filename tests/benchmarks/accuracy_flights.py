"""What each representation's accuracy costs on real data: the bundled flights, random split, pairs over seeds."""

from collections.abc import Mapping
from typing import Any

from profiles.units import format_bytes
from representations.datasets import load_dataset, split_dataset
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.flights import DHE, DIM, models, row_of, scores
from tests.benchmarks.markdown import bullets, table

__all__ = ["BENCHMARK"]

_EPOCHS = 2
_INTRODUCTION = f"""\
A small DLRM on the bundled flights data (is a flight more than 15 minutes late?), a random sixth of the rows as test.
Width {DIM} per feature; a DHE has {DHE.k} hashes and a hidden layer of {DHE.widths[0]}; *select* gives a DHE to the
three features of most ids and tables to the others; a hybrid is a table and a DHE of half the width each.
{_EPOCHS} epochs at most, the better one kept."""
_MEANING = """\
- Each seed draws its own split, weights and order of rows, and trains every representation on the same ones. Figures
  are means over seeds.
- **AUC interval**: 95 %, Student's t over the seeds; of a single seed, by Hanley and McNeil over the test rows. It
  holds the luck of the split too, which all representations share.
- **AUC over table**: the mean of the differences to the table at the same seed, with its 95 % interval: that is what
  compares. An interval that holds 0 shows no difference.
- **FLOPs** are per sample, 2 per multiply-accumulate of matrix products, and 8 per hash."""

_REFERENCE = (
    "Reference: published work found a DHE to match a full table's AUC at a quarter of its size in most settings, and "
    "hybrids to be the most accurate, on click logs whose tables have millions of rows; here the largest has 4,038."
)


def _measure(quick: bool) -> Figures:
    seeds, rows = ((0,), 60_000) if quick else ((0, 1, 2), None)
    dataset = load_dataset("flights", rows=rows)
    found = scores(dataset, seeds, epochs=_EPOCHS)
    splits = split_dataset(dataset, "random", seeds[0])
    body = [row_of(spec, found[one], found["table"]) for one, spec in models(splits).items()]
    return {"seeds": len(seeds), "test_rows": len(splits.test), "rows": body}


def _describe(report: Mapping[str, Any]) -> list[str]:
    columns = ("representation", "AUC", "95 %", "AUC over table", "95 %", "log loss", "accuracy", "bytes", "FLOPs")
    rows = [
        (
            row["representation"],
            f"{row['auc']:.4f}",
            _interval(row["auc_interval"], ".4f"),
            f"{row['auc_over_table']:+.4f}",
            _interval(row["auc_over_table_interval"], "+.4f"),
            f"{row['log_loss']:.4f}",
            f"{row['accuracy']:.4f}",
            format_bytes(row["parameter_bytes"]),
            f"{row['flops']:,.0f}",
        )
        for row in report["rows"]
    ]
    count = f"{report['seeds']} seeds, {report['test_rows']:,} test rows each."
    return [
        _INTRODUCTION,
        count,
        table(columns, rows),
        "## What the figures mean",
        _MEANING,
        "## Remarks",
        _remarks(report),
    ]


def _remarks(report: Mapping[str, Any]) -> str:
    compared = [row for row in report["rows"] if row["representation"] != "table" and row["auc_over_table_interval"]]
    if not compared:
        return "- One seed compares nothing."
    lines = [f"{row['representation']}: {_verdict(row['auc_over_table_interval'])}." for row in compared]
    return bullets([*lines, _REFERENCE])


def _verdict(interval: tuple[float, float]) -> str:
    low, high = interval
    if low > 0:
        return "a higher AUC than the table's"
    return "a lower AUC than the table's" if high < 0 else "no AUC that these seeds could tell from the table's"


def _interval(interval: tuple[float, float] | None, form: str) -> str:
    return f"{interval[0]:{form}} to {interval[1]:{form}}" if interval else ""


BENCHMARK = Benchmark(
    name="accuracy_flights",
    title="Accuracy of the representations on flights",
    measure=_measure,
    describe=_describe,
)

if __name__ == "__main__":
    main(BENCHMARK)
