from pathlib import Path

import numpy as np
import pytest

from profiles.component import make_component
from profiles.errors import InputError
from representations.logged_ids import log_exponent, logged_ids, with_logged_ids, without_log
from representations.provider import RecommendationProvider
from representations.zipf import expected_distinct, fit_log_exponent, sample_ids

TABLE: dict[str, int | float | str] = {"rows": 258368, "dim": 4, "pooling": 1.0, "zipf": 0.0, "backend": "torch"}


def test_ids_come_from_the_log_in_its_order(tmp_path: Path) -> None:
    log = tmp_path / "log.npy"
    np.save(log, np.array([7, 9, 7, 8]))
    ids = logged_ids(str(log), np.random.default_rng(0), 100, 9)
    assert "".join(map(str, ids.tolist())) in "020102010201020102"
    assert set(logged_ids(str(log), np.random.default_rng(0), 2, 9).tolist()) == {0, 1}


def test_a_look_up_of_a_log_is_asked_by_its_exponent() -> None:
    component = with_logged_ids(make_component("embedding", 500, TABLE), "scarab")
    assert dict(component.shape)["ids_from"] == "scarab"
    assert dict(without_log(component).shape) == TABLE | {"zipf": log_exponent("scarab")}
    assert len(RecommendationProvider().build(component, 0).args[0]) == 500


def test_the_exponent_of_a_log_gives_the_distinct_ids_of_its_batches() -> None:
    ids = logged_ids("scarab", np.random.default_rng(1), 258368, 100_000)
    distinct = len(np.unique(ids))
    assert expected_distinct(258368, log_exponent("scarab"), 100_000) == pytest.approx(distinct, rel=0.1)


@pytest.mark.parametrize("exponent", [0.6, 1.1])
def test_the_exponent_of_drawn_ids_is_found_again(exponent: float) -> None:
    ids = sample_ids(np.random.default_rng(0), 5000, exponent, 40_000)
    assert fit_log_exponent(ids) == pytest.approx(exponent, abs=0.06)


def test_what_reads_no_ids_has_no_log() -> None:
    with pytest.raises(InputError, match="component 'linear': reads no ids"):
        with_logged_ids(make_component("linear", 1, {"in_features": 2, "out_features": 2}), "scarab")
    with pytest.raises(InputError, match="must hold ids, but is empty"):
        fit_log_exponent(np.zeros(0, dtype=np.int64))
