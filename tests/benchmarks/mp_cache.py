"""MP-Cache beside the bare stack and a table: hit rates and speed on a real log, accuracy on real labels."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from representations.datasets.access_log import load_access_log
from representations.mp_cache.policies import CachePolicy, hit_rate
from tests.benchmarks.accuracy_synthetic import PLANTED
from tests.benchmarks.benchmark import Benchmark, Figures, main
from tests.benchmarks.cached_accuracy import DHE, accuracies, flights_splits, planted_oracle, planted_splits
from tests.benchmarks.cached_stacks import (
    BYTES,
    IDS_PER_CALL,
    SPEC,
    centroids_of,
    encodings_of,
    logs_of,
    time_stacks,
)
from tests.benchmarks.markdown import percent, table
from tests.benchmarks.mp_cache_page import accuracy_line, exact_line, grid_line, metrics_line, nearness_line, remarks

__all__ = ["BENCHMARK", "decoder_rows", "exact_ways", "grid"]

_ENTRIES = (256, 2048, 16384, 65536)
_POLICIES: tuple[CachePolicy, ...] = ("lru", "lfu", "static")
_SHAPE = "-".join(str(width) for width in (SPEC.k, *SPEC.widths, SPEC.dim))
_TRAINED_SHAPE = "-".join(str(width) for width in (DHE.k, *DHE.widths, DHE.dim))
_INTRODUCTION = f"""\
A DHE of {SPEC.k} hashes, decoded by {_SHAPE} with Mish, answers {IDS_PER_CALL:,} accesses per call, in the order of
the bundled log of a recommendation service (1,245,184 accesses to 258,368 ids). Caches are made of the log's first half
and timed on the second. One thread, float32, CPU time. Sizes are of embeddings alone. Accuracy is not that of this DHE,
but of models in which every feature is a smaller one, {_TRAINED_SHAPE}: on the bundled flights, and on the generated
data of [the planted comparison](accuracy_synthetic.md), two features with an effect for every one of
{sum(feature.cardinality for feature in PLANTED.features):,} ids."""
_MEANING = """\
- **hit rates** are exact simulations over the whole log: LRU and LFU begin empty, *static* has foresight (the hottest
  ids of this very log); *static, learned* holds those of the first half and is counted on the second.
- **speed-up** is over the bare stack, module by module, on the same accesses, round by round; **over table** is the
  time over that of a plain table of the same ids.
- **streaming, deduplicated** ways are exact too: equal ids of a call go through the stack once, and blocks of encodings
  go straight into the first product.
- **AUC and log loss** are changes: a trained model's metrics with the caches around every DHE minus those without, mean
  over seeds with its 95 % interval over them (one seed has none); 0 for everything exact. *Best possible* is what the
  true probabilities reach, where data was generated with them. Caches are made of the ids of the training rows. The
  flights have at most 4,038 ids per feature: there 2 MB hold all of them.
- centroids **default**: one embedding, the mean of cold ids', for every id that the encoder cache lacks; neither
  encoder nor decoder run. What this does not cost in accuracy, no other cache can be praised for.
- **cosine**: of an accessed id's encoding to its nearest centroid, on accesses of the second half."""


def _measure(quick: bool) -> Figures:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _figures(quick)
    finally:
        torch.set_num_threads(threads)


def _figures(quick: bool) -> Figures:
    log_N = load_access_log("scarab")
    logs = logs_of(log_N)
    counts = (64, 256) if quick else (16, 64, 256, 1024)
    centroids = centroids_of(logs, counts, maximum_ids=2000 if quick else 20_000)
    speeds = time_stacks(logs, centroids, 8 if quick else 30)
    seeds, rows, planted = ((0,), 12_000, 12_000) if quick else ((0, 1, 2, 3, 4), None, 200_000)
    measured = partial(accuracies, seeds=seeds, sizes=BYTES, counts=counts, epochs=1 if quick else 4)
    accuracy = {
        "flights": measured(partial(flights_splits, rows)),
        "planted": measured(partial(planted_splits, planted), oracle_of=partial(planted_oracle, planted)),
    }
    encodings = encodings_of(logs, centroids)
    rates = {policy: {str(n): hit_rate(log_N, n, policy) for n in _ENTRIES} for policy in _POLICIES}
    learned = {str(n): hit_rate(logs.later_N, n, "static", earlier_N=logs.earlier_N) for n in _ENTRIES}
    return {
        "lru_hit_rates": rates["lru"],
        "hit_rates": rates | {"static, learned": learned},
        "speedup": {
            row["cache"]: row["speedup"]["median"]
            for row in speeds
            if row["policy"] == "static" and not row["n"] and not row["streaming_and_deduplicated"]
        },
        "decoder": decoder_rows(speeds, accuracy, encodings),
        "grid": grid(speeds),
        "accuracy": accuracy,
        "exact": exact_ways(speeds),
        "variance_in_an_eighth": encodings["variance_in_an_eighth"],
        "seeds": len(seeds),
    }


def decoder_rows(
    speeds: list[dict[str, Any]], accuracy: Mapping[str, Any], encodings: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The decoder cache alone, by number of centroids; accuracy, of the smaller DHE, on flights and planted effects."""
    changes = {name: {(row["cache"], row["n"]): row for row in found["rows"]} for name, found in accuracy.items()}
    return [
        {
            "n": row["n"],
            "speed_of": _SHAPE,
            "speedup": row["speedup"]["median"],
            "distance_to_table": row["over_table"]["median"],
            "accuracy_of": _TRAINED_SHAPE,
            "auc_change": changes["flights"]["", row["n"]]["auc_change"],
            "log_loss_change": changes["flights"]["", row["n"]]["log_loss_change"],
            "planted_auc_change": changes["planted"]["", row["n"]]["auc_change"],
            "planted_log_loss_change": changes["planted"]["", row["n"]]["log_loss_change"],
            **encodings["nearness"][row["n"]],
        }
        for row in grid(speeds)
        if row["n"] > 0 and not row["cache"]
    ]


def exact_ways(speeds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ways that change no result."""
    return [row for row in speeds if not row["n"]]


def grid(speeds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Speed on the log, by bytes of the encoder cache and number of centroids."""
    return [row for row in speeds if not row["streaming_and_deduplicated"]]


def _describe(report: Mapping[str, Any]) -> list[str]:
    rates = report["hit_rates"]
    return [
        _INTRODUCTION,
        "## Hit rates of the log",
        table(
            ("policy", *(f"{n:,} entries" for n in _ENTRIES)),
            [(policy, *(percent(found[str(n)]) for n in _ENTRIES)) for policy, found in rates.items()],
        ),
        "## Exact ways",
        table(
            ("cache", "policy", "streaming, deduplicated", "hit rate", "speed-up", "over table"),
            [exact_line(row) for row in report["exact"]],
        ),
        f"## Encoder and decoder cache: speed, of a DHE {_SHAPE}",
        table(
            ("encoder cache", "centroids", "hit rate", "speed-up", "over table"),
            [grid_line(row) for row in report["grid"]],
        ),
        f"## Encoder and decoder cache: accuracy, of DHEs {_TRAINED_SHAPE} (seeds: {report['seeds']})",
        table(
            ("data", "AUC without caches", "best possible AUC", "log loss without caches", "best possible log loss"),
            [metrics_line(name, found) for name, found in report["accuracy"].items()],
        ),
        table(
            (
                "encoder cache", "centroids", "AUC, flights", "log loss, flights", "AUC, planted", "log loss, planted",
            ),
            [
                accuracy_line(row, other)
                for row, other in zip(*(found["rows"] for found in report["accuracy"].values()), strict=True)
            ],
        ),
        "## Nearness",
        table(("centroids", "median cosine", "accesses above 0.9"), [nearness_line(row) for row in report["decoder"]]),
        "## What the figures mean",
        _MEANING,
        "## Remarks",
        remarks(report),
    ]  # fmt: skip


BENCHMARK = Benchmark(name="mp_cache", title="MP-Cache", measure=_measure, describe=_describe)

if __name__ == "__main__":
    main(BENCHMARK)
