"""Lines and remarks of the page about MP-Cache."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.benchmarks.cached_stacks import DEFAULT, SPEC
from tests.benchmarks.markdown import bullets, percent, significant, with_quartiles

__all__ = ["accuracy_line", "exact_line", "grid_line", "metrics_line", "nearness_line", "remarks"]

# Hsia et al., arXiv 2302.10872.
_PAPER = {"2KB": 1.57, "2MB": 1.92}


def exact_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    """One exact way."""
    extras = "yes" if row["streaming_and_deduplicated"] else "no"
    speeds = (with_quartiles(row["speedup"]), with_quartiles(row["over_table"]))
    return (row["cache"] or "none", row["policy"], extras, _rate(row), *speeds)


def grid_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The speed of one size of either cache."""
    speeds = (with_quartiles(row["speedup"]), significant(row["over_table"]["median"]))
    return (*_sizes(row), _rate(row), *speeds)


def metrics_line(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    """What a data set's models reach without caches, and what is possible."""
    oracle = found["oracle"]
    pairs = (
        (f"{found['base'][key]:.4f}", f"{oracle[key]:.4f}" if oracle else "unknown") for key in ("auc", "log_loss")
    )
    return (name, *(cell for pair in pairs for cell in pair))


def accuracy_line(*rows: Mapping[str, Any]) -> tuple[str, ...]:
    """The changes of one size of either cache, one data set's after the other's."""
    return (*_sizes(rows[0]), *(_change(row, key) for row in rows for key in ("auc_change", "log_loss_change")))


def nearness_line(row: Mapping[str, Any]) -> tuple[str, ...]:
    """How near encodings are to so many centroids."""
    return (f"{row['n']:,}", significant(row["median_cosine"], 2), percent(row["share_above_0.9"]))


def remarks(report: Mapping[str, Any]) -> str:
    """What the figures say, by the report's own."""
    speedup = report["speedup"]
    paper = "; ".join(f"{size} {speedup[size]:.2f}x here, {_PAPER[size]:.2f}x in the paper" for size in _PAPER)
    best = max(report["exact"], key=lambda row: row["speedup"]["median"])
    eighth = SPEC.k // 8
    return bullets([
        f"""Encoder cache, static, over the bare stack: {paper}. The paper's ids are those of another service; the
  speed-up follows the hit rate.""",
        f"""Decoder cache, speed: the nearest of N centroids costs as much as a layer of N outputs, so that it pays only
  below the {SPEC.widths[0]} of the first layer, and the encoder's own time keeps it far from a table's.""",
        *_shown(report, "A decoder cache alone", lambda row: row["n"] > 0 and not row["cache"]),
        f"""The reason is in the encodings: hashes of different ids are independent, so that a centroid is near only to
  ids that it was made of. A decoder cache keeps hot ids at {SPEC.k} floats each, where an encoder cache keeps them at
  {SPEC.dim}, exactly, and finds them by one look into a hash table. A low-rank front does no better: the first {eighth}
  of {SPEC.k} principal directions of the accessed encodings hold {percent(report['variance_in_an_eighth'])} of their
  variance.""",
        f"""What holds is to keep results per id and to compute the rest exactly: the fastest exact way here
  ({best['cache'] or 'no cache'}, {best['policy'] or 'no policy'}) is {best['speedup']['median']:.2f} times as fast as
  the bare stack, changes no result, and still takes {best['over_table']['median']:.0f} times a table's time.""",
        """Near a table's speed comes only what runs no stack at all: hot ids by the encoder cache, one default
  embedding for the others. Cold ids are those that were learned worst; what a mean in their place costs depends on the
  data: measure it.""",
        *_shown(report, "A default embedding behind an encoder cache", lambda row: row["n"] == DEFAULT),
    ])  # fmt: skip


def _rate(row: Mapping[str, Any]) -> str:
    return "" if row["hit_rate"] is None else percent(row["hit_rate"])


def _sizes(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["cache"] or "none", {0: "none", DEFAULT: "default"}.get(row["n"], f"{row['n']:,}")


def _change(row: Mapping[str, Any], key: str) -> str:
    interval = row[f"{key}_interval"]
    return f"{row[key]:+.4f}" + (f" ({interval[0]:+.4f} to {interval[1]:+.4f})" if interval else "")


def _shown(report: Mapping[str, Any], what: str, is_meant: Callable[[Mapping[str, Any]], bool]) -> Iterator[str]:
    """A remark per data set on changes of AUC whose interval over seeds holds no 0; none where there is no such."""
    for name, found in report["accuracy"].items():
        rows = [row for row in found["rows"] if is_meant(row) and _is_shown(row["auc_change_interval"])]
        if rows:
            changes = "; ".join(f"{', '.join(_sizes(row))}: {_change(row, 'auc_change')}" for row in rows)
            yield f"{what} changes the AUC on {name} data (encoder cache, centroids: change): {changes}."


def _is_shown(interval: tuple[float, float] | None) -> bool:
    return interval is not None and not interval[0] <= 0 <= interval[1]
