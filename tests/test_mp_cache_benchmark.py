import numpy as np
import pytest
import torch

from representations.datasets import make_synthetic, split_dataset
from representations.datasets.access_log import load_access_log
from tests.benchmarks import mp_cache
from tests.benchmarks.accuracy_synthetic import PLANTED
from tests.benchmarks.cached_accuracy import accuracy_rows
from tests.benchmarks.cached_stacks import BYTES, IDS_PER_CALL, centroids_of, encodings_of, logs_of, time_stacks


@pytest.mark.slow
def test_the_page_of_a_small_run_says_what_was_found() -> None:
    log = load_access_log("scarab")[: 8 * IDS_PER_CALL]
    logs = logs_of(log)
    centroids = centroids_of(logs, (4,), maximum_ids=50)
    speeds = time_stacks(logs, centroids, rounds=2)
    splits = split_dataset(make_synthetic(PLANTED, 2000, 0).dataset, "random", 0)
    accuracies = {
        name: accuracy_rows(lambda _seed: splits, (0,), BYTES, (4,), epochs=1) for name in ("flights", "planted")
    }
    encodings = encodings_of(logs, centroids)
    decoder = mp_cache.decoder_rows(speeds, accuracies, encodings)
    assert [row["n"] for row in decoder] == [4]
    assert {"speedup", "distance_to_table", "auc_change", "log_loss_change"} <= decoder[0].keys()
    grid = mp_cache.grid(speeds, accuracies)
    assert all(row["flights"]["auc_change"] == pytest.approx(0, abs=1e-9) for row in grid if row["n"] == 0)
    rates = {str(n): 0.5 for n in (256, 2048, 16384, 65536)}
    page = "\n".join(
        mp_cache.BENCHMARK.describe({
            "hit_rates": {"lru": rates},
            "speedup": {"2KB": 1.0, "2MB": 2.0},
            "decoder": decoder,
            "grid": grid,
            "exact": mp_cache.exact_ways(speeds),
            "variance_in_an_eighth": encodings["variance_in_an_eighth"],
            "seeds": 1,
        })
    )  # fmt: skip
    assert "| 2KB | default |" in page


def test_logs_are_made_of_dense_halves() -> None:
    logs = logs_of(np.array([-5, 90, 90, -5, 7, 7]))
    assert logs.feature.cardinality == 3
    assert [logs.earlier_N.tolist(), logs.later_N.tolist()] == [[0, 2, 2], [0, 1, 1]]
    assert torch.equal(logs_of(np.repeat([3, 4], IDS_PER_CALL)).batches(1)[0], torch.ones(IDS_PER_CALL).long())
