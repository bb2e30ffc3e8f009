"""What is uncertain about a capacity, and what is left of it with a device down."""

from dataclasses import replace
from typing import Any

import pytest

from profiles.errors import InputError
from serving_sim.capacity import find_capacity
from serving_sim.capacity_sampling import MOST_QUERIES_PER_RUN, Sampling, precision_of, sampling_for
from serving_sim.plan import Plan, PolicyChoice, QueryClass
from serving_sim.policies import Headroom
from serving_sim.table_errors import with_table_errors
from serving_sim.testing import small_plan


def with_bars(plan: Plan, share: float) -> Plan:
    """The plan with every table known to so much up and down."""
    paths = []
    for path in plan.paths:
        low, high = (tuple(ms * factor for ms in path.latency.mean_ms) for factor in (1 - share, 1 + share))
        paths.append(replace(path, latency=replace(path.latency, low_ms=low, high_ms=high)))
    return replace(plan, paths=tuple(paths))


def find(plan: Plan, policy: Any = "table-switch", **options: Any) -> Any:
    return find_capacity(plan, [policy], **{"seeds": 3, "queries": 5_000, **options}).policies[0]


def test_the_tables_error_stands_apart_from_the_seeds() -> None:
    plain, barred = find(small_plan()), find(with_bars(small_plan(), 0.1))
    assert plain.table_low is None
    assert (barred.max_qps, barred.ci_low, barred.ci_high) == (plain.max_qps, plain.ci_low, plain.ci_high)
    assert barred.table_low < 0.93 * barred.max_qps
    assert barred.table_high > 1.07 * barred.max_qps


def test_both_errors_together_are_wider_than_either_and_narrower_than_their_sum() -> None:
    found = find(with_bars(small_plan(), 0.05))
    both = found.max_qps - found.combined_low
    assert max(found.max_qps - found.ci_low, found.max_qps - found.table_low) < both
    assert both < found.max_qps - found.ci_low + found.max_qps - found.table_low


def test_tables_move_to_where_a_lognormal_error_of_their_bars_has_them() -> None:
    plan = with_bars(small_plan(), 0.1)
    up, down = with_table_errors(plan, 1.6448536), with_table_errors(plan, -1.6448536)
    assert up is not None
    assert down is not None
    for moved, at in ((up, 1.1), (down, 0.9)):
        assert moved.paths[0].latency.mean_ms == pytest.approx([ms * at for ms in plan.paths[0].latency.mean_ms])
    assert with_table_errors(small_plan(), 1.0) is None


def test_the_sample_follows_from_the_noise() -> None:
    pilot = Sampling(queries=20_000, seeds=8)
    assert sampling_for(0.02, 0.01, pilot) == pilot
    longer = sampling_for(0.005, 0.01, pilot)
    assert longer.queries == pytest.approx(1.3 * 4 * pilot.queries)
    assert longer.seeds == pilot.seeds
    most = sampling_for(0.0005, 0.01, pilot)
    assert most.queries == MOST_QUERIES_PER_RUN
    assert most.seeds > pilot.seeds


def test_precision_is_half_the_interval_over_the_mean() -> None:
    assert precision_of([99.0, 100.0, 101.0]) == pytest.approx(4.303 / 3**0.5 / 100)
    assert precision_of([0.0, 0.0]) is None


def test_a_stated_precision_is_reached() -> None:
    result = find_capacity(small_plan(), ["table-switch"], precision=0.01)
    assert result.reached is not None
    assert result.reached <= 0.01
    found = result.policies[0]
    assert found.ci_high - found.max_qps <= 0.0101 * found.max_qps


def test_early_stopping_asks_for_more_than_the_percentile_does() -> None:
    plain, early = (find(small_plan(), early_stopping=early) for early in (False, True))
    assert 0.5 * plain.max_qps < early.max_qps < plain.max_qps
    with pytest.raises(InputError, match="too few for early stopping"):
        find(small_plan(), early_stopping=True, queries=400)


def test_every_class_has_to_hold_its_own_sla() -> None:
    loose = small_plan()
    both = QueryClass(name="patient", share=0.9, sla_ms=10.0), QueryClass(name="hasty", share=0.1, sla_ms=4.0)
    split = replace(loose, workload=replace(loose.workload, classes=both))
    found = find_capacity(split, ["table-switch"], seeds=2, queries=20_000)
    assert found.slas_by_class == {"patient": 10.0, "hasty": 4.0}
    late = found.policies[0].late_share_by_class
    assert late is not None
    assert late["patient"] < late["hasty"] <= 0.01
    assert found.policies[0].max_qps < find(loose, seeds=2, queries=20_000).max_qps


def test_refused_queries_count_as_late() -> None:
    """A policy that refuses all that it cannot serve in time still has a capacity."""
    found = find(small_plan(), Headroom(), seeds=2)
    bound = find_capacity(small_plan(), ["table-switch"], seeds=2, queries=5_000).upper_bound_qps
    assert 0 < found.max_qps < 1.3 * bound


def test_with_one_device_down_what_is_left_counts() -> None:
    plan = small_plan()
    spare = find(plan, n_plus_one=True).n_plus_one
    only_cpu = replace(plan, devices=plan.devices[:1], paths=tuple(path for path in plan.paths if path.device == "cpu"))
    assert spare.device == min(spare.by_device, key=spare.by_device.get)
    assert spare.by_device["gpu"] == pytest.approx(find(only_cpu).max_qps, rel=1e-6)
    assert spare.ci_low <= spare.max_qps <= spare.ci_high


def test_a_policy_whose_path_is_down_has_nothing_left() -> None:
    choice = PolicyChoice(name="static", options={"path": "table-gpu"})
    spare = find(small_plan(), choice, n_plus_one=True).n_plus_one
    assert (spare.device, spare.max_qps) == ("gpu", 0.0)
    assert spare.by_device["cpu"] > 0
