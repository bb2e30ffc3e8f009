import numpy as np
import pytest

from profiles.errors import InputError
from representations.metrics import score


def test_metrics_equal_their_definitions() -> None:
    labels, predicted = np.array([0, 0, 1, 1], dtype=np.float32), np.array([0.1, 0.6, 0.5, 0.9])
    metrics = score(labels, predicted)
    assert metrics.auc == 0.75
    assert metrics.accuracy == 0.75
    assert metrics.log_loss == pytest.approx(-np.mean(np.log([0.9, 0.4, 0.5, 0.9])))


def test_one_label_alone_cannot_be_ranked() -> None:
    with pytest.raises(InputError, match="need both labels among the 3 rows"):
        score(np.ones(3, dtype=np.float32), np.full(3, 0.5))
