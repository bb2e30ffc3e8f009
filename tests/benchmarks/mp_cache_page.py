"""Lines and remarks of the page about MP-Cache."""

from collections.abc import Mapping
from typing import Any

from tests.benchmarks.cached_stacks import DEFAULT, SPEC
from tests.benchmarks.markdown import bullets, percent, significant, with_quartiles

__all__ = ["exact_line", "grid_line", "nearness_line", "remarks"]

# Hsia et al., arXiv 2302.10872.
_PAPER = {"2KB": 1.57, "2MB": 1.92}


def exact_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One exact way."""
    extras = "yes" if row["streaming_and_deduplicated"] else "no"
    speeds = (with_quartiles(row["speedup"]), with_quartiles(row["over_table"]))
    return (row["cache"] or "none", row["policy"], extras, _rate(row), *speeds)


def grid_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One size of either cache."""
    speeds = (with_quartiles(row["speedup"]), significant(row["over_table"]["median"]))
    changes = [row[data][key] for data in ("flights", "planted") for key in ("auc_change", "log_loss_change")]
    n = {0: "none", DEFAULT: "default"}.get(row["n"], f"{row['n']:,}")
    return (row["cache"] or "none", n, _rate(row), *speeds, *(f"{change:+.4f}" for change in changes))


def nearness_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    """How near encodings are to so many centroids."""
    return (f"{row['n']:,}", significant(row["median_cosine"], 2), percent(row["share_above_0.9"]))


def remarks(report: Mapping[str, Any]) -> str:
    """What the figures say, by the report's own."""
    speedup, decoder = report["speedup"], report["decoder"]
    paper = "; ".join(f"{size} {speedup[size]:.2f}x here, {_PAPER[size]:.2f}x in the paper" for size in _PAPER)
    costs = ", ".join(f"{row['n']:,}: {row['planted_auc_change']:+.4f}" for row in decoder)
    defaults = [row for row in report["grid"] if row["n"] == DEFAULT]
    small = defaults[0]
    default_costs = "; ".join(
        f"{row['cache']} {row['flights']['auc_change']:+.4f} and {row['planted']['auc_change']:+.4f} at "
        f"{row['over_table']['median']:.1f} times a table's time"
        for row in defaults
    )
    best = max(report["exact"], key=lambda row: row["speedup"]["median"])
    eighth = SPEC.k // 8
    return bullets([
        f"""Encoder cache, static, over the bare stack: {paper}. The paper's ids are those of another service; the
  speed-up follows the hit rate.""",
        f"""Decoder cache, speed: the nearest of N centroids costs as much as a layer of N outputs, so that it pays only
  below the {SPEC.widths[0]} of the first layer, and the encoder's own time keeps it far from a table's.""",
        f"""Decoder cache, accuracy: change of AUC by centroids, where every id has an effect: {costs}. The flights
  cannot judge it: one embedding for all ids but the 32 hottest of each feature changes their AUC by
  {small['flights']['auc_change']:+.4f}.""",
        f"""The reason is in the encodings: hashes of different ids are independent, so that a centroid is near only to
  ids that it was made of. A decoder cache keeps hot ids at {SPEC.k} floats each, where an encoder cache keeps them at
  {SPEC.dim}, exactly, and finds them by one look into a hash table. A low-rank front does no better: the first {eighth}
  of {SPEC.k} principal directions of the accessed encodings hold {percent(report['variance_in_an_eighth'])} of their
  variance.""",
        f"""What holds is to keep results per id and to compute the rest exactly: the fastest exact way here
  ({best['cache'] or 'no cache'}, {best['policy'] or 'no policy'}) is {best['speedup']['median']:.2f} times as fast as
  the bare stack, changes no result, and still takes {best['over_table']['median']:.0f} times a table's time.""",
        f"""Near a table's speed comes only what runs no stack at all: hot ids by the encoder cache, one default
  embedding for the others. Its change of AUC on flights and with planted effects: {default_costs}. Cold ids are
  those that were learned worst; what a mean in their place costs depends on the data: measure it.""",
    ])  # fmt: skip


def _rate(row: Mapping[str, Any]) -> str:
    return "" if row["hit_rate"] is None else percent(row["hit_rate"])
