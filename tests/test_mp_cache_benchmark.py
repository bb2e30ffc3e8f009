from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from representations.datasets import make_synthetic, split_dataset
from representations.datasets.access_log import load_access_log
from tests.benchmarks import mp_cache
from tests.benchmarks.accuracy_synthetic import PLANTED
from tests.benchmarks.cached_accuracy import accuracies, planted_oracle
from tests.benchmarks.cached_stacks import BYTES, IDS_PER_CALL, centroids_of, encodings_of, logs_of, time_stacks
from tests.benchmarks.mp_cache_page import remarks


@pytest.mark.slow
def test_the_page_of_a_small_run_says_what_was_found() -> None:
    log = load_access_log("scarab")[: 8 * IDS_PER_CALL]
    logs = logs_of(log)
    centroids = centroids_of(logs, (4,), maximum_ids=50)
    speeds = time_stacks(logs, centroids, rounds=2)
    splits = split_dataset(make_synthetic(PLANTED, 2000, 0).dataset, "random", 0)
    measured = partial(accuracies, lambda _seed: splits, sizes=BYTES, counts=(4,), epochs=1)
    accuracy = {
        "flights": measured(seeds=(0,)),
        "planted": measured(seeds=(0, 1), oracle_of=partial(planted_oracle, 2000)),
    }
    assert accuracy["planted"]["oracle"]["auc"] > accuracy["planted"]["base"]["auc"]
    encodings = encodings_of(logs, centroids)
    decoder = mp_cache.decoder_rows(speeds, accuracy, encodings)
    assert [row["n"] for row in decoder] == [4]
    assert {"speedup", "distance_to_table", "auc_change", "log_loss_change"} <= decoder[0].keys()
    exact = [row for found in accuracy.values() for row in found["rows"] if row["n"] == 0]
    assert all(row["auc_change"] == pytest.approx(0, abs=1e-9) for row in exact)
    rates = {str(n): 0.5 for n in (256, 2048, 16384, 65536)}
    page = "\n".join(
        mp_cache.BENCHMARK.describe({
            "hit_rates": {"lru": rates},
            "speedup": {"2KB": 1.0, "2MB": 2.0},
            "decoder": decoder,
            "grid": mp_cache.grid(speeds),
            "accuracy": accuracy,
            "exact": mp_cache.exact_ways(speeds),
            "variance_in_an_eighth": encodings["variance_in_an_eighth"],
            "seeds": 1,
        })
    )  # fmt: skip
    assert page.count("| 2KB | default |") == 2
    assert "| flights | 0." in page


def test_only_changes_whose_interval_holds_no_zero_are_remarked() -> None:
    def row(n: int, interval: tuple[float, float] | None) -> dict[str, Any]:
        return {"cache": "", "n": n, "auc_change": -0.01, "auc_change_interval": interval}

    rows = [row(16, (-0.02, -0.001)), row(64, (-0.02, 0.001)), row(256, None)]
    speed = {"cache": "2MB", "policy": "static", "speedup": {"median": 2.0}, "over_table": {"median": 9.0}}
    text = remarks({
        "speedup": {"2KB": 1.0, "2MB": 2.0},
        "accuracy": {"planted": {"rows": rows}, "flights": {"rows": rows[1:]}},
        "exact": [speed],
        "variance_in_an_eighth": 0.3,
    })  # fmt: skip
    assert "on planted data (encoder cache, centroids: change): none, 16: -0.0100 (-0.0200 to -0.0010)." in text
    assert "on flights data" not in text


def test_logs_are_made_of_dense_halves() -> None:
    logs = logs_of(np.array([-5, 90, 90, -5, 7, 7]))
    assert logs.feature.cardinality == 3
    assert [logs.earlier_N.tolist(), logs.later_N.tolist()] == [[0, 2, 2], [0, 1, 1]]
    assert torch.equal(logs_of(np.repeat([3, 4], IDS_PER_CALL)).batches(1)[0], torch.ones(IDS_PER_CALL).long())
