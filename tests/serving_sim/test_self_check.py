from dataclasses import replace

import numpy as np
import pytest

from profiles.errors import InputError
from serving_sim.self_check import QUEUES, Check, check_laws, check_wait, queue_plan, self_check
from serving_sim.testing import small_plan


def test_every_row_of_a_short_check_is_right() -> None:
    checks = self_check(50_000, plan=small_plan())
    assert [one for one in checks if not one.passed] == []
    assert {one.subject for one in checks} >= {"M/M/1, load 0.5", "M/G/1, load 0.95", "M/M/2", "small", "small, cpu"}


def test_a_wrong_figure_fails_its_row() -> None:
    check = Check(subject="q", figure="f", queries=1, expected=1.0, simulated=1.01, allowed=0.005)
    assert not check.passed
    assert check.to_object()["difference"] == pytest.approx(0.01)
    assert replace(check, allowed=0.02).passed


def test_half_a_percent_is_allowed_where_the_run_can_tell_it() -> None:
    short, long = (check_wait(QUEUES[0], 0.5, queries) for queries in (20_000, 10_000_000))
    assert short.standard_error is not None
    assert short.allowed == pytest.approx(3 * short.standard_error)
    assert long.allowed == pytest.approx(0.005 * long.expected)
    assert long.passed


def test_the_standard_error_is_the_scatter_over_seeds() -> None:
    checks = [check_wait(QUEUES[0], 0.8, 40_000, seed=seed) for seed in range(60)]
    scatter = np.std([one.simulated for one in checks], ddof=1)
    assert scatter == pytest.approx(checks[0].standard_error, rel=0.3)


def test_batch_means_agree_with_the_formula_where_there_is_one() -> None:
    two = check_wait(QUEUES[1], 0.5, 2_000_000)
    one = check_wait(QUEUES[0], 0.5, 2_000_000)
    assert two.standard_error is not None
    assert one.standard_error is not None
    assert two.standard_error / two.expected == pytest.approx(one.standard_error / one.expected, rel=0.7)


def test_a_server_that_idles_while_a_query_waits_is_found() -> None:
    checks = check_laws(queue_plan(QUEUES[1], 0.8, 5_000), fifo=True)
    assert [one.figure for one in checks if "idle" in one.figure]
    assert all(one.passed for one in checks)


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(InputError, match="self-check"):
        self_check(100)
